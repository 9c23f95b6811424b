// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom-check: rechecks a certificate on the modules that
// `transom verify --stages` wrote. It links no compiler passes.
#include "compiler/verify/CheckStages.h"
#include <cstdio>
#include <cstring>

using namespace transom;

static constexpr const char *usage =
    "transom-check FOLDER [--json]\n"
    "  checks the stages that 'transom verify MODEL --stages FOLDER' wrote\n";

static int fail(const Error &error) {
  fprintf(stderr, "transom-check: error: %s\n", error.message.c_str());
  return static_cast<int>(error.status);
}

/// Prints to stdout. Returns the exit code.
static int print(const std::string &text) {
  if (fputs(text.c_str(), stdout) >= 0 && fflush(stdout) == 0)
    return 0;
  return fail(unavailable("cannot write to stdout"));
}

int main(int argc, char **argv) {
  const char *folder = nullptr;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
      return print(usage);
    if (!strcmp(argv[i], "--json"))
      json = true;
    else if (folder || argv[i][0] == '-')
      return fail(usageError("unknown argument '" + std::string(argv[i]) +
                             "'; expected a folder"));
    else
      folder = argv[i];
  }
  if (!folder)
    return fail(usageError("no folder is named"));
  Result<Certificate> certificate = checkStages(folder);
  if (!certificate)
    return fail(certificate.error());
  const std::string text = json ? certificate->toJson() : certificate->toText();
  if (const int code = print(text))
    return code;
  Result<void> checked = certificate->check();
  return checked ? 0 : fail(checked.error());
}
