// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the explanation page: `make-explain-page page.html a.json [b.json]`.
// `a.json.profile`, `a.json.s` and `a.json.config`, if they exist, are its
// profile, its assembly and its config.json.
#include "tools/commands/explain/ExplainPage.h"
#include <cstdio>
#include <fstream>
#include <sstream>

using namespace transom;

/// Returns a file's contents, empty for a missing file.
static std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

static Result<void> makePage(const std::string &output,
                             const std::vector<std::string> &inputs) {
  std::vector<tools::ShownCompilation> compilations;
  for (const std::string &input : inputs) {
    compilations.push_back({readText(input),
                            {},
                            readText(input + ".profile"),
                            readText(input + ".s")});
    if (std::string config = readText(input + ".config"); !config.empty())
      compilations.back().sources["config.json"] = config;
  }
  std::ofstream file(output, std::ios::binary);
  return tools::writeExplainPage(
      compilations, [&](std::string_view text) -> Result<void> {
        file.write(text.data(), static_cast<std::streamsize>(text.size()));
        return {};
      });
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  Result<void> made = makePage(argv[1], {argv + 2, argv + argc});
  if (!made)
    std::fprintf(stderr, "%s\n", made.takeError().message.c_str());
  return made ? 0 : 1;
}
