// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders without tokenizer.json, or with one that their classes change: ids,
// offsets and texts equal to transformers' classes.
#include "compiler/import/tokenizer/ImportFolder.h"
#include "runtime/base/File.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include "test/runtime/base/TestSupport.h"
#include "test/runtime/tokenizer/Fixture.h"
#include "test/support/TimeLimit.h"
#include <algorithm>

namespace transom::test {
namespace {

class FolderGolden : public testing::TestWithParam<std::string> {};

std::vector<int64_t> getFlat(const std::vector<TokenOffsets> &offsets) {
  std::vector<int64_t> values;
  for (TokenOffsets o : offsets)
    values.insert(values.end(), {int64_t(o.begin), int64_t(o.end)});
  return values;
}

void expectFolderCase(const Tokenizer &tokenizer, JsonValue expected) {
  auto encoding = tokenizer.encode(*expected.get("text")->asString());
  ASSERT_TRUE(encoding) << encoding.error().message;
  EXPECT_EQ(encoding->ids, *expected.get("ids")->asIntArray(0, INT32_MAX));
  if (auto target = expected.find("target")) {
    encoding = tokenizer.getTarget().encode(*expected.get("text")->asString());
    EXPECT_EQ(encoding->ids, *target->asIntArray(0, INT32_MAX));
  }
  if (auto pair = expected.find("pair")) {
    auto both = tokenizer.encode(*expected.get("text")->asString(),
                                 *expected.get("second")->asString(), {});
    EXPECT_EQ(both->ids, *pair->asIntArray(0, INT32_MAX));
    EXPECT_EQ(both->typeIds, *expected.get("types")->asIntArray(0, 1));
  }
  if (auto plain = expected.find("plain"))
    EXPECT_EQ(*tokenizer.decode(encoding->ids, true), *plain->asString());
  if (auto decoded = expected.find("decoded"))
    EXPECT_EQ(*tokenizer.decode(encoding->ids, false), *decoded->asString());
  if (auto offsets = expected.find("offsets"))
    EXPECT_EQ(getFlat(encoding->offsets), *offsets->asIntArray(0, INT32_MAX));
}

TEST_P(FolderGolden, IdsAndTexts) {
  const std::string folder = getGoldenPath("folders/" + GetParam());
  auto imported = importTokenizerFolder(folder);
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_TRUE(*imported);
  auto tokenizer = Tokenizer::open((*imported)->tokenizer.tables);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  auto document = parseJsonFile(joinPath(folder, "cases.json"));
  ASSERT_TRUE(document) << document.error().message;
  ASSERT_GE(document->root().size(), 50u);
  for (JsonValue expected : document->root().elements()) {
    SCOPED_TRACE(utf8::printable(*expected.get("text")->asString()));
    expectFolderCase(*tokenizer, expected);
  }
}

/// A file with one byte changed or truncated; `round` chooses.
std::string getChanged(std::string bytes, uint64_t round) {
  const uint64_t mixed = (round + 1) * 0x9E3779B97F4A7C15u;
  const size_t at = (mixed >> 20) % bytes.size();
  if (round % 3 == 0)
    return bytes.substr(0, at);
  bytes[at] = static_cast<char>(mixed >> 12);
  return bytes;
}

/// Folders with a malformed file are refused with one line, or are tokenizers.
TEST_P(FolderGolden, MalformedFiles) {
  const std::string folder = getGoldenPath("folders/" + GetParam());
  auto original = importTokenizerFolder(folder);
  ASSERT_TRUE(original && *original);
  // Copy the folder.
  TempFolder copy;
  for (const std::string &name : (*original)->files)
    copy.write(name, *readSmallFile(joinPath(folder, name), 1 << 20));
  copy.write(
      "tokenizer_config.json",
      *readSmallFile(joinPath(folder, "tokenizer_config.json"), 1 << 20));
  // Damage one file at a time.
  for (const std::string &name : (*original)->files) {
    const std::string bytes = *readSmallFile(joinPath(folder, name), 1 << 20);
    for (uint64_t round = 0; round < 24; ++round) {
      copy.write(name, getChanged(bytes, round));
      auto imported = importTokenizerFolder(copy.path());
      if (!imported) {
        EXPECT_TRUE(imported.error().status == Status::Rejected ||
                    imported.error().status == Status::Unsupported ||
                    imported.error().status == Status::Limit ||
                    imported.error().status == Status::Unavailable);
        EXPECT_EQ(imported.error().message.find('\n'), std::string::npos);
      } else if (*imported) {
        auto tokenizer = Tokenizer::open((*imported)->tokenizer.tables);
        ASSERT_TRUE(tokenizer) << tokenizer.error().message;
        EXPECT_TRUE(tokenizer->encode("ka lo\u00e9 </s> e\u0301 >>de<<"));
      }
    }
    copy.write(name, bytes);
  }
}

/// Long texts with one kind of content: letters, spaces, marks, characters that
/// are not pieces, and starts of added tokens.
TEST_P(FolderGolden, LongTextsTakeLinearTime) {
  auto imported = importTokenizerFolder(getGoldenPath("folders/" + GetParam()));
  ASSERT_TRUE(imported && *imported);
  auto tokenizer = Tokenizer::open((*imported)->tokenizer.tables);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  auto getSeconds = [&](const std::string &unit, size_t count) {
    std::string text;
    while (count-- > 0)
      text += unit;
    double least = 1e9;
    for (int i = 0; i < 2; ++i) {
      const double start = processorSeconds();
      EXPECT_TRUE(tokenizer->encode(text));
      least = std::min(least, processorSeconds() - start);
    }
    return least;
  };
  for (const char *unit : {"a", " ", "\u2581", "e\u0301", "\u0323", "\u4e2d",
                           "\u2581a", "</", ">>"}) {
    SCOPED_TRACE(unit);
    const double once = getSeconds(unit, 8000);
    expectSeconds(getSeconds(unit, 64000), 24 * std::max(once, 0.005));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Folders, FolderGolden,
    testing::Values(
        "albert", "albert_settings", "camembert_settings", "deberta_settings",
        "deberta_v2", "deberta_v2_settings", "bart_settings", "bert_accents",
        "bert_cased", "bert_type", "blenderbot", "distilbert", "electra",
        "gpt2_opt", "llama", "llama_decoder", "llama_legacy", "m2m100_bpe",
        "m2m100_settings", "marian_two", "mbart", "mbart50", "mpnet",
        "mpnet_settings", "nllb", "nllb_legacy", "pegasus", "qwen2", "roberta",
        "saved_albert_foreign", "saved_bart_settings",
        "saved_camembert_settings", "saved_cohere", "saved_deberta_v2_settings",
        "saved_gemma", "saved_general", "saved_general_split",
        "saved_gpt2_settings", "saved_llama_settings", "saved_neox",
        "saved_nllb_foreign", "saved_t5_foreign", "saved_xlm_roberta_settings",
        "serialized_bert", "serialized_general", "serialized_tokens",
        "serialized_type", "t5_settings", "xlm_roberta_settings"),
    [](const auto &info) { return info.param; });

} // namespace
} // namespace transom::test
