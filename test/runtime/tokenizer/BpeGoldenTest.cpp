// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte-pair and Unigram tokenizers as in real models: ids, offsets and texts
// equal to the PyPI package tokenizers.
#include "runtime/base/Sha256.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include "test/runtime/tokenizer/Corpus.h"
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

class BpeGolden : public testing::TestWithParam<std::string> {
protected:
  std::string file(const std::string &ending) const {
    return golden(GetParam() + ending);
  }
};

std::vector<int64_t> numbers(JsonValue object, std::string_view key) {
  return *object.get(key)->asIntArray(0, INT32_MAX);
}

std::vector<int64_t> flat(const std::vector<TokenOffsets> &offsets) {
  std::vector<int64_t> values;
  for (TokenOffsets o : offsets)
    values.insert(values.end(), {int64_t(o.begin), int64_t(o.end)});
  return values;
}

void expectCase(const Tokenizer &tokenizer, JsonValue expected) {
  std::optional<std::string_view> pair;
  if (auto value = expected.find("pair"))
    pair = *value->asString();
  auto encoding = tokenizer.encode(*expected.get("text")->asString(), pair, {});
  ASSERT_TRUE(encoding) << encoding.error().message;
  EXPECT_EQ(encoding->ids, numbers(expected, "ids"));
  EXPECT_EQ(flat(encoding->offsets), numbers(expected, "offsets"));
  if (expected.find("type_ids"))
    EXPECT_EQ(encoding->typeIds, numbers(expected, "type_ids"));
  std::string_view decoded = *expected.get("decoded")->asString();
  auto plain = expected.find("plain");
  EXPECT_EQ(*tokenizer.decode(encoding->ids, false), decoded);
  EXPECT_EQ(*tokenizer.decode(encoding->ids, true),
            plain ? *plain->asString() : decoded);
}

TEST_P(BpeGolden, WrittenCases) {
  Loaded loaded = load(file(".json"));
  ASSERT_TRUE(loaded.tokenizer);
  auto document = parseJson(file(".cases.json"), "cases.json");
  ASSERT_TRUE(document) << document.error().message;
  ASSERT_GE(document->root().size(), 80u);
  for (JsonValue expected : document->root().elements()) {
    SCOPED_TRACE(utf8::printable(*expected.get("text")->asString()) + " (" +
                 expected.where() + ")");
    expectCase(*loaded.tokenizer, expected);
  }
}

std::array<uint8_t, 32> getDigest(const Tokenizer &tokenizer,
                                  const Encoding &encoding) {
  Sha256 hash;
  auto add = [&](int64_t value) {
    char bytes[4];
    for (int i = 0; i < 4; ++i)
      bytes[i] = static_cast<char>(value >> 8 * i);
    hash.update(std::string_view(bytes, 4));
  };
  for (int64_t id : encoding.ids)
    add(id);
  for (int64_t offset : flat(encoding.offsets))
    add(offset);
  hash.update(*tokenizer.decode(encoding.ids, false));
  return hash.digest();
}

/// The corpus strings for which there are hashes.
std::vector<size_t> corpusIndices() {
  std::vector<size_t> indices;
  for (size_t i = 0; i < corpusSize; ++i)
    if (i < 8192 || i >= randomStrings)
      indices.push_back(i);
  return indices;
}

class BpeCorpus : public BpeGolden {};

TEST_P(BpeCorpus, IdsOffsetsAndTexts) {
  Loaded loaded = load(file(".json"));
  ASSERT_TRUE(loaded.tokenizer);
  std::string hashes = file(".hashes.bin");
  std::vector<size_t> indices = corpusIndices();
  ASSERT_EQ(hashes.size(), indices.size() + 32);
  Sha256 all;
  size_t wrong = 0;
  for (size_t i = 0; i < indices.size(); i += corpusStride) {
    std::string text = corpusString(indices[i]);
    auto encoding = loaded->encode(text);
    ASSERT_TRUE(encoding) << encoding.error().message;
    auto digest = getDigest(*loaded.tokenizer, *encoding);
    all.update(std::string_view(reinterpret_cast<const char *>(digest.data()),
                                digest.size()));
    if (digest[0] != static_cast<uint8_t>(hashes[i]))
      EXPECT_GE(++wrong, 6u)
          << "string " << indices[i] << ": " << utf8::printable(text, 400);
  }
  EXPECT_EQ(wrong, 0u);
  if (corpusStride != 1)
    return;
  auto digest = all.digest();
  EXPECT_EQ(std::string(digest.begin(), digest.end()),
            hashes.substr(indices.size()));
}

std::string getName(const testing::TestParamInfo<std::string> &info) {
  return info.param.substr(info.param.find('/') + 1);
}

const auto withCorpus = testing::Values(
    "bpe/gpt2", "bpe/llama3", "bpe/qwen2", "bpe/llama2", "bpe/metaspace",
    "bpe/roberta", "bpe/o200k", "bpe/cl100k", "bpe/scripts");
INSTANTIATE_TEST_SUITE_P(Decoders, BpeGolden, withCorpus, getName);
INSTANTIATE_TEST_SUITE_P(Decoders, BpeCorpus, withCorpus, getName);
// The reference takes too long on the corpus with these.
INSTANTIATE_TEST_SUITE_P(WholeWords, BpeGolden,
                         testing::Values("bpe/word_end", "bpe/no_unknown",
                                         "bpe/script_words", "bpe/bytes_first"),
                         getName);
const auto unigram =
    testing::Values("unigram/t5", "unigram/xlmr", "unigram/unigram_bytes",
                    "unigram/unigram_first");
INSTANTIATE_TEST_SUITE_P(Unigram, BpeGolden, unigram, getName);
INSTANTIATE_TEST_SUITE_P(Unigram, BpeCorpus, unigram, getName);

} // namespace
} // namespace transom::test
