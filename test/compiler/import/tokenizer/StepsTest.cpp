// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalizers and truncation.
#include "test/compiler/import/tokenizer/ImportErrors.h"

namespace transom::test {
namespace {

TEST(TokenizerSteps, UnsupportedTypesAreNamed) {
  expectError(R"("type": "BertNormalizer")", R"("type": "NFX")",
              Status::Unsupported,
              "6:15: '/normalizer': unsupported normalizer 'NFX'; "
              "supported: BertNormalizer, ByteLevel, Lowercase, NFC, NFD, "
              "NFKC, NFKD, Nmt, "
              "Precompiled, Prepend, Replace, Sequence, Strip, StripAccents");
}

TEST(TokenizerSteps, DeepNestingIsRefused) {
  std::string nested;
  for (int i = 0; i < 100; ++i)
    nested += R"({"type": "Sequence", "normalizers": [)";
  auto imported = importTokenizer(
      replaceOnce(smallBpeJson(), R"({"type": "NFC"})", nested), "t.json");
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().status, Status::Rejected);
}

TEST(TokenizerSteps, TruncationRules) {
  auto with = [](const std::string &text) {
    return "\"truncation\": {" + text + "}";
  };
  const std::string none = "\"truncation\": null";
  EXPECT_EQ(getError(none, with("\"max_length\": 0")).status, Status::Rejected);
  EXPECT_EQ(getError(none, with("\"max_length\": -1")).status,
            Status::Rejected);
  expectError(none, with(R"("max_length": 9, "strategy": "Longest")"),
              Status::Rejected,
              "2:45: '/truncation/strategy': unknown strategy 'Longest'; "
              "supported: LongestFirst, OnlyFirst, OnlySecond");
  Loaded loaded = load(replaceOnce(
      smallJson(), none,
      with(R"("max_length": 18446744073709551615, "strategy": "OnlyFirst")")));
  EXPECT_EQ(loaded->truncation(), 4294967295u);
}

} // namespace
} // namespace transom::test
