// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Marian folder: ids and texts equal to transformers' class.
#include "compiler/import/tokenizer/classes/ImportMarian.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

TEST(MarianGolden, IdsAndTexts) {
  const std::string pieces = golden("marian/source.spm");
  const std::string vocabulary = golden("marian/vocab.json");
  auto imported = importMarianTokenizer(
      {{pieces, "source.spm"}, {vocabulary, "vocab.json"}});
  ASSERT_TRUE(imported) << imported.error().message;
  auto tokenizer = Tokenizer::open(imported->tables);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  auto document = parseJson(golden("marian/cases.json"), "cases.json");
  ASSERT_TRUE(document) << document.error().message;
  ASSERT_GE(document->root().size(), 400u);
  for (JsonValue expected : document->root().elements()) {
    std::string_view text = *expected.get("text")->asString();
    SCOPED_TRACE(utf8::printable(text));
    auto encoding = tokenizer->encode(text);
    ASSERT_TRUE(encoding) << encoding.error().message;
    EXPECT_EQ(encoding->ids, *expected.get("ids")->asIntArray(0, INT32_MAX));
    EXPECT_EQ(*tokenizer->decode(encoding->ids, true),
              *expected.get("plain")->asString());
    for (TokenOffsets offsets : encoding->offsets) {
      EXPECT_LE(offsets.begin, offsets.end);
      EXPECT_LE(offsets.end, text.size());
    }
  }
}

/// Truncated pieces, or pieces with a changed byte, are refused or a tokenizer.
TEST(MarianGolden, ChangedPieces) {
  const std::string pieces = golden("marian/source.spm");
  const std::string vocabulary =
      R"({"</s>": 0, "<unk>": 1, "<pad>": 2, "a": 3, "e": 4})";
  for (size_t i = 0; i < pieces.size(); i += 97) {
    std::string changed = pieces;
    changed[i] = static_cast<char>(changed[i] ^ 0x81);
    for (const std::string &bytes : {changed, pieces.substr(0, i)}) {
      auto imported = importMarianTokenizer(
          {{bytes, "source.spm"}, {vocabulary, "vocab.json"}});
      if (!imported)
        continue;
      auto tokenizer = Tokenizer::open(imported->tables);
      ASSERT_TRUE(tokenizer) << tokenizer.error().message;
      EXPECT_TRUE(tokenizer->encode("ka lo\u00e9 e\u0301"));
    }
  }
}

} // namespace
} // namespace transom::test
