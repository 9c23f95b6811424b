// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ids and offsets equal to the PyPI package tokenizers, on the whole corpus and
// on the explicit cases.
#include "runtime/base/Sha256.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include "test/runtime/tokenizer/Corpus.h"
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

/// tokenizer.json with the replacements that a variant or a case lists.
std::string replaced(std::string base, JsonValue replacements) {
  for (JsonValue replacement : replacements.elements())
    base = replaceOnce(std::move(base), std::string(*replacement[0].asString()),
                       std::string(*replacement[1].asString()));
  return base;
}

std::string pack(const std::vector<uint32_t> &values) {
  std::string bytes;
  for (uint32_t value : values)
    for (int shift = 0; shift < 32; shift += 8)
      bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string packIds(const Encoding &encoding) {
  return pack({encoding.ids.begin(), encoding.ids.end()});
}

std::string packOffsets(const Encoding &encoding) {
  std::vector<uint32_t> values;
  for (TokenOffsets offsets : encoding.offsets) {
    values.push_back(static_cast<uint32_t>(offsets.begin));
    values.push_back(static_cast<uint32_t>(offsets.end));
  }
  return pack(values);
}

std::string getList(const std::vector<int64_t> &values) {
  std::string text;
  for (int64_t value : values)
    text += std::to_string(value) + " ";
  return text;
}

TEST(TokenizerGolden, CorpusIsTheOneOfTheScript) {
  auto document = parseJson(golden("corpus.json"), "corpus.json");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(*document->root().get("strings")->asInt(), int64_t(corpusSize));
  Sha256 hash;
  for (size_t i = 0; i < corpusSize; ++i)
    hash.update(corpusString(i) + '\xff');
  EXPECT_EQ(hash.hex(), *document->root().get("corpus_sha256")->asString());
}

TEST(TokenizerGolden, IdsAndOffsetsOfTheCorpus) {
  auto document = parseJson(golden("corpus.json"), "corpus.json");
  ASSERT_TRUE(document) << document.error().message;
  std::string base = golden("tokenizer.json"), hashes = golden("hashes.bin");
  JsonValue variants = *document->root().get("variants");
  ASSERT_EQ(hashes.size(), variants.size() * corpusSize);
  ASSERT_GE(corpusSize, 100000u);
  for (size_t v = 0; v < variants.size(); ++v) {
    SCOPED_TRACE(*variants[v].get("name")->asString());
    // Each variant replaces parts of the small tokenizer.
    Loaded loaded = load(replaced(base, *variants[v].get("replace")));
    ASSERT_TRUE(loaded.tokenizer);
    Sha256 allIds, allOffsets;
    size_t wrong = 0;
    // One hash byte per string locates the first differences.
    for (size_t i = 0; i < corpusSize; i += corpusStride) {
      std::string text = corpusString(i);
      auto encoding = loaded->encode(text);
      ASSERT_TRUE(encoding) << encoding.error().message;
      std::string ids = packIds(*encoding), offsets = packOffsets(*encoding);
      allIds.update(ids);
      allOffsets.update(offsets);
      Sha256 hash;
      hash.update(ids + offsets);
      if (hash.digest()[0] !=
          static_cast<uint8_t>(hashes[v * corpusSize + i])) {
        EXPECT_GE(++wrong, 6u)
            << "string " << i << ": " << utf8::printable(text, 400)
            << "\nids: " << getList(encoding->ids);
      }
    }
    EXPECT_EQ(wrong, 0u);
    // The whole corpus also has full hashes.
    if (corpusStride != 1)
      continue;
    EXPECT_EQ(allIds.hex(), *variants[v].get("ids_sha256")->asString());
    EXPECT_EQ(allOffsets.hex(), *variants[v].get("offsets_sha256")->asString());
  }
}

std::vector<int64_t> numbers(JsonValue object, std::string_view key) {
  return *object.get(key)->asIntArray(0, INT32_MAX);
}

void expectCase(const Tokenizer &tokenizer, JsonValue expected) {
  // Encode with the case's options.
  std::string text(*expected.get("text")->asString());
  std::optional<std::string_view> pair;
  if (JsonValue value = *expected.get("pair"); !value.isNull())
    pair = *value.asString();
  EncodeOptions options;
  options.addSpecial = *expected.get("add_special")->asBool();
  options.maxLength = *expected.get("max_length")->asUint();
  EXPECT_EQ(tokenizer.truncation().value_or(0), options.maxLength);
  auto encoding = tokenizer.encode(text, pair, options);
  // Compare each member of the encoding.
  ASSERT_TRUE(encoding) << encoding.error().message;
  EXPECT_EQ(encoding->ids, numbers(expected, "ids"));
  EXPECT_EQ(encoding->typeIds, numbers(expected, "type_ids"));
  std::vector<int64_t> mask(encoding->specialMask.begin(),
                            encoding->specialMask.end());
  EXPECT_EQ(mask, numbers(expected, "special_mask"));
  std::vector<std::vector<int64_t>> got, offsetsExpected;
  for (TokenOffsets offsets : encoding->offsets)
    got.push_back({int64_t(offsets.begin), int64_t(offsets.end)});
  for (JsonValue offsets : expected.get("offsets")->elements())
    offsetsExpected.push_back(*offsets.asIntArray(0, INT32_MAX));
  EXPECT_EQ(got, offsetsExpected);
  EXPECT_EQ(encoding->truncatedTokens, *expected.get("truncated")->asUint());
  // Decode with and without special tokens.
  EXPECT_EQ(*tokenizer.decode(encoding->ids, false),
            *expected.get("decoded")->asString());
  EXPECT_EQ(*tokenizer.decode(encoding->ids, true),
            *expected.get("plain")->asString());
}

TEST(TokenizerGolden, WrittenCases) {
  auto document = parseJson(golden("cases.json"), "cases.json");
  ASSERT_TRUE(document) << document.error().message;
  std::string base = golden("tokenizer.json");
  ASSERT_GE(document->root().size(), 200u);
  std::string lastJson;
  Loaded loaded;
  for (JsonValue expected : document->root().elements()) {
    SCOPED_TRACE(std::string(*expected.get("variant")->asString()) + ": " +
                 utf8::printable(*expected.get("text")->asString()) + " (" +
                 expected.where() + ")");
    std::string json = replaced(base, *expected.get("replace"));
    if (json != lastJson)
      loaded = load(json);
    lastJson = json;
    ASSERT_TRUE(loaded.tokenizer);
    expectCase(*loaded.tokenizer, expected);
  }
}

} // namespace
} // namespace transom::test
