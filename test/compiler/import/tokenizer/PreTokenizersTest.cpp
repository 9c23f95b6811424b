// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pre-tokenizers, and the patterns in them.
#include "test/compiler/import/tokenizer/ImportErrors.h"

namespace transom::test {
namespace {

TEST(TokenizerPreTokenizers, UnsupportedTypesAreNamed) {
  const std::string preTokenizers =
      "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, FixedLength, "
      "Metaspace, Punctuation, Sequence, Split, UnicodeScripts, Whitespace, "
      "WhitespaceSplit";
  expectError(R"({"type": "BertPreTokenizer"})", R"({"type": "Syllables"})",
              Status::Unsupported,
              "7:18: '/pre_tokenizer': unsupported pre-tokenizer "
              "'Syllables'; supported: " +
                  preTokenizers);
  expectError(
      R"({"type": "BertPreTokenizer"})",
      R"({"type": "Sequence", "pretokenizers": [{"type": "Sentences"}]})",
      Status::Unsupported,
      "7:57: '/pre_tokenizer/pretokenizers/0': unsupported pre-tokenizer "
      "'Sentences'; supported: " +
          preTokenizers);
}

TEST(TokenizerPreTokenizers, LengthsOfPartsAreChecked) {
  expectError(R"({"type": "BertPreTokenizer"})",
              R"({"type": "FixedLength", "length": 0})", Status::Rejected,
              "7:52: '/pre_tokenizer/length': expected an integer from 1 to "
              "2147483647, got 0");
}

TEST(TokenizerPreTokenizers, PatternsThatAreNotBuilt) {
  expectBpeError(R"( ?[a-z]+|)", R"((a)\\1|)", Status::Unsupported,
                 "7:41: '/pre_tokenizer/pretokenizers/0/pattern/Regex': "
                 "unsupported regular expression "
                 "'(a)\\1|\\s+(?!\\S)|\\s+': a backreference '\\1'");
  expectBpeError(R"("behavior": "Isolated")", R"("behavior": "Apart")",
                 Status::Rejected,
                 "7:83: '/pre_tokenizer/pretokenizers/0/behavior': unknown "
                 "behavior 'Apart'; supported: Removed, Isolated, "
                 "MergedWithPrevious, MergedWithNext, Contiguous");
}

} // namespace
} // namespace transom::test
