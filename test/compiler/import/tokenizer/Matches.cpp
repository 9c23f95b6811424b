// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pattern matches in a text.
#include "test/compiler/import/tokenizer/Matches.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/Splitter.h"

using namespace transom;
using namespace transom::tokenizer;

std::string tokenizer::cut(std::string_view pattern, std::string_view text) {
  auto program = compileRegex(pattern);
  if (!program)
    return program.error().message;
  Characters characters = getCharacters(text);
  std::string result;
  for (const Cut &cut :
       Splitter::open(*program)->find(characters, {0, characters.size()})) {
    std::string text =
        toUtf8({characters.begin() + static_cast<ptrdiff_t>(cut.span.begin),
                characters.begin() + static_cast<ptrdiff_t>(cut.span.end)});
    result += cut.match ? "[" + text + "]" : text;
  }
  return result;
}
