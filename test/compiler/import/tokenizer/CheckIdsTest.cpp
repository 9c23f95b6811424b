// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ids beyond the embedding rows.
#include "compiler/import/tokenizer/CheckIds.h"
#include <gtest/gtest.h>

namespace transom {
namespace {

/// Model tokens 0 to 2, added tokens 3 and 4, and a template with an id.
ImportedTokenizer import(const std::string &id) {
  const std::string json =
      R"({"added_tokens": [
 {"id": 3, "content": "<new>", "single_word": false, "lstrip": false,
  "rstrip": false, "normalized": false, "special": false},
 {"id": 4, "content": "[PAD]", "single_word": false, "lstrip": false,
  "rstrip": false, "normalized": false, "special": true}],
 "post_processor": {"type": "TemplateProcessing",
  "single": [{"SpecialToken": {"id": "x", "type_id": 0}},
             {"Sequence": {"id": "A", "type_id": 0}}],
  "pair": [{"Sequence": {"id": "A", "type_id": 0}},
           {"Sequence": {"id": "B", "type_id": 0}}],
  "special_tokens": {"x": {"id": "x", "ids": [)" +
      id + R"(], "tokens": ["x"]}}},
 "model": {"type": "WordLevel", "unk_token": "a",
  "vocab": {"a": 0, "b": 1, "c": 2}}})";
  auto imported = importTokenizer(json, "tokenizer.json");
  EXPECT_TRUE(imported) << imported.error().message;
  return std::move(*imported);
}

std::string check(int64_t rows, std::optional<int64_t> padding = {},
                  const std::string &id = "0") {
  ImportedTokenizer imported = import(id);
  const size_t notes = imported.notes.size();
  Result<void> checked = checkTokenIds(imported, rows, padding);
  if (!checked) {
    EXPECT_EQ(checked.error().status, Status::Rejected);
    return checked.error().message;
  }
  return imported.notes.size() > notes ? imported.notes.back() : "";
}

TEST(TokenizerCheckIds, TheFirstTokenWithoutARowIsNamed) {
  EXPECT_EQ(check(5), "");
  EXPECT_EQ(check(4), "token '[PAD]' has id 4, but the model's embedding has 4 "
                      "rows; supported: ids below that");
  EXPECT_EQ(check(2), "token 'c' has id 2, but the model's embedding has 2 "
                      "rows; supported: ids below that");
}

TEST(TokenizerCheckIds, PaddingIsNoted) {
  EXPECT_EQ(check(4, 4), "padding token '[PAD]' has id 4, but the model's "
                         "embedding has 4 rows; a text with this token is "
                         "refused");
  EXPECT_EQ(check(3, 4), "token '<new>' has id 3, but the model's embedding "
                         "has 3 rows; supported: ids below that");
}

TEST(TokenizerCheckIds, TemplatesNameIdsToo) {
  EXPECT_EQ(check(5, {}, "7"),
            "a token of 'post_processor' has id 7, but the model's embedding "
            "has 5 rows; supported: ids below that");
}

} // namespace
} // namespace transom
