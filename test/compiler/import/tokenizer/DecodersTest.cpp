// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Invalid decoders, and decoders that fail only when text is decoded.
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

TEST(TokenizerDecoders, UnsupportedDecoderIsNamedOnlyWhenUsed) {
  std::string json = replaceOnce(
      smallJson(), R"({"type": "WordPiece", "prefix": "##", "cleanup": true})",
      R"({"type": "CTC"})");
  Loaded loaded = load(json);
  EXPECT_TRUE(loaded->encode("a"));
  auto text = loaded->decode({5});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().status, Status::Unsupported);
  EXPECT_EQ(text.error().message,
            "unsupported decoder 'CTC'; supported: BPEDecoder, ByteFallback, "
            "ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip, WordPiece");
}

TEST(TokenizerDecoders, OrdersThatAreNotBuiltAreNamedWhenUsed) {
  for (
      const char *order :
      {R"({"type": "ByteFallback"}, {"type": "Metaspace", "replacement": "_"})",
       R"({"type": "Fuse"}, {"type": "ByteLevel"})",
       R"({"type": "Fuse"},
           {"type": "Replace", "pattern": {"Regex": "ab"}, "content": ""})",
       R"({"type": "Replace", "pattern": {"Regex": "(a)\\1"}, "content": ""})"}) {
    Loaded loaded =
        load(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
 "decoder": {"type": "Sequence", "decoders": [)" +
             std::string(order) + "]}}");
    auto text = loaded->decode({0});
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().status, Status::Unsupported);
  }
}

TEST(TokenizerDecoders, PatternsAreReplacedInEachToken) {
  Loaded loaded = load(
      R"({"model": {"type": "BPE", "vocab": {"ab": 0, "b": 1, "": 2},
 "merges": []}, "decoder": {"type": "Sequence", "decoders": [
 {"type": "Replace", "pattern": {"Regex": "(?<=a)b|^b"}, "content": "x"},
 {"type": "Replace", "pattern": {"String": ""}, "content": "-"},
 {"type": "Fuse"}]}})");
  ASSERT_TRUE(loaded.tokenizer);
  EXPECT_EQ(*loaded->decode({0, 1}), "-a-x--x-");
}

TEST(TokenizerDecoders, StripAndMetaspaceAreOfOneCharacter) {
  for (const char *decoder :
       {R"({"type": "Strip", "content": "ab", "start": 1, "stop": 0})",
        R"({"type": "Metaspace", "replacement": ""})"}) {
    auto wrong = importTokenizer(
        R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "decoder": )" +
            std::string(decoder) + "}",
        "t.json");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().status, Status::Rejected);
    EXPECT_NE(wrong.error().message.find("expected one character, got '"),
              std::string::npos);
  }
}

TEST(TokenizerDecoders, MetaspaceWithOptionsThatContradict) {
  auto wrong = importTokenizer(
      R"({"model": {"type": "BPE", "vocab": {}, "merges": []},
 "decoder": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "add_prefix_space": false}})",
      "t.json");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().status, Status::Rejected);
}

TEST(TokenizerDecoders, OfABpeTheSettingOfSpacesCountsBesideAnother) {
  const std::string model =
      R"({"model": {"type": "BPE", "vocab": {"a .": 0}, "merges": []}, "decoder": {"type": "Fuse"}})";
  auto decode = [&](const std::string &settings) {
    return *load(model, settings)->decode({0});
  };
  EXPECT_EQ(decode("{}"), "a .");
  EXPECT_EQ(decode(R"({"clean_up_tokenization_spaces": true})"), "a .");
  const std::string both =
      R"("clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": true})";
  EXPECT_EQ(decode("{" + both), "a .");
  EXPECT_EQ(decode(R"({"clean_up_tokenization_spaces": true, )" + both), "a.");
}

} // namespace
} // namespace transom::test
