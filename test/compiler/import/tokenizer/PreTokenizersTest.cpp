// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pre-tokenizers, and the patterns in them.
#include "test/compiler/import/tokenizer/ImportErrors.h"

namespace transom::test {
namespace {

TEST(TokenizerPreTokenizers, UnsupportedTypesAreNamed) {
  const std::string preTokenizers =
      "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, "
      "Punctuation, Sequence, Split, Whitespace, WhitespaceSplit";
  expectError(R"({"type": "BertPreTokenizer"})",
              R"({"type": "UnicodeScripts"})", Status::Unsupported,
              "7:18: '/pre_tokenizer': unsupported pre-tokenizer "
              "'UnicodeScripts'; supported: " +
                  preTokenizers);
  expectError(
      R"({"type": "BertPreTokenizer"})",
      R"({"type": "Sequence", "pretokenizers": [{"type": "FixedLength"}]})",
      Status::Unsupported,
      "7:57: '/pre_tokenizer/pretokenizers/0': unsupported pre-tokenizer "
      "'FixedLength'; supported: " +
          preTokenizers);
}

TEST(TokenizerPreTokenizers, EmptyPatternsAreNamed) {
  expectError(R"({"type": "BertPreTokenizer"})",
              R"({"type": "Split", "pattern": {"String": ""},
 "behavior": "Removed", "invert": true})",
              Status::Unsupported,
              "7:58: '/pre_tokenizer/pattern/String': unsupported empty "
              "pattern");
}

TEST(TokenizerPreTokenizers, PatternsThatAreNotBuilt) {
  expectBpeError(
      R"( ?[a-z]+|)", R"((?<=a)b|)", Status::Unsupported,
      "7:41: '/pre_tokenizer/pretokenizers/0/pattern/Regex': "
      "unsupported regular expression "
      "'(?<=a)b|\\s+(?!\\S)|\\s+': a group '(?<='; supported: (...), "
      "(?:...), (?i:...), (?=x), (?!x)");
  expectBpeError(R"("behavior": "Isolated")", R"("behavior": "Apart")",
                 Status::Rejected,
                 "7:83: '/pre_tokenizer/pretokenizers/0/behavior': unknown "
                 "behavior 'Apart'; supported: Removed, Isolated, "
                 "MergedWithPrevious, MergedWithNext, Contiguous");
}

} // namespace
} // namespace transom::test
