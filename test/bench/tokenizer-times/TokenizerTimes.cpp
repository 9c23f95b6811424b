// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tokenizer-times TOKENIZER TEXTS SECONDS: repeatedly encodes all lines in
// TEXTS on one thread for some seconds. Prints the milliseconds for the fastest
// pass and the id count.
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "runtime/base/File.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace transom;

static int fail(const std::string &message) {
  fprintf(stderr, "tokenizer-times: %s\n", message.c_str());
  return 1;
}

static std::vector<std::string_view> getLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

static double getMilliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

int main(int argc, char **argv) {
  if (argc != 4)
    return fail("expected TOKENIZER TEXTS SECONDS");
  // Open the tokenizer.
  auto json = readSmallFile(argv[1], 256 << 20);
  auto texts = readSmallFile(argv[2], 256 << 20);
  if (!json || !texts)
    return fail((json ? texts : json).error().message);
  auto imported = importTokenizer(*json, argv[1]);
  if (!imported)
    return fail(imported.error().message);
  auto tokenizer = Tokenizer::open(imported->tables);
  if (!tokenizer)
    return fail(tokenizer.error().message);

  // Encode all lines repeatedly and keep the fastest pass.
  const std::vector<std::string_view> lines = getLines(*texts);
  const double end = getMilliseconds() + 1e3 * std::atof(argv[3]);
  double least = 1e300;
  size_t ids = 0;
  do {
    const double start = getMilliseconds();
    ids = 0;
    for (std::string_view line : lines) {
      auto encoding = tokenizer->encode(line);
      if (!encoding)
        return fail(encoding.error().message);
      ids += encoding->ids.size();
    }
    least = std::min(least, getMilliseconds() - start);
  } while (getMilliseconds() < end);
  printf("%.4f %zu\n", least, ids);
  return 0;
}
