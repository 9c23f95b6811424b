// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model in memory whose tokenizer knows the words a, b and c.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "runtime/text/Text.h"
#include "test/support/fake/Fake.h"
#include <cstring>

namespace transom::test {

/// Words a, b, c between [CLS] and [SEP].
inline const char tokenizerJson[] = R"({"version": "1.0",
"truncation": null, "padding": null,
"added_tokens": [
 {"id": 2, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
 {"id": 3, "content": "[SEP]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
"pre_tokenizer": {"type": "BertPreTokenizer"},
"post_processor": {"type": "TemplateProcessing",
 "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
 "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
 "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}, "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 20,
 "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 10, "b": 20, "c": 30, "##c": 31}}})";

inline const std::string &tables() {
  static const std::string made = [] {
    auto imported = importTokenizer(tokenizerJson, "tokenizer.json");
    EXPECT_TRUE(bool(imported)) << imported.error().message;
    return imported ? imported->tables : std::string();
  }();
  return made;
}

inline Manifest textManifest() {
  Manifest manifest = fakeManifest();
  manifest.text.emplace();
  manifest.text->tokenizer = true;
  manifest.text->maxLength = 8;
  manifest.text->pooling = "mean";
  return manifest;
}

inline transom_text text(const char *words) {
  return {words, std::strlen(words)};
}

/// A session that holds results.
inline std::unique_ptr<Session> makeTextSession(const Model &model) {
  SessionConfig config = makeConfig(2, 64);
  config.holdResults = true;
  return makeSession(model, config);
}

/// Embeddings from a session for this batch size and token count.
inline std::vector<float>
embed(const Model &model, const std::vector<transom_text> &texts, int64_t batch,
      int64_t tokens, unsigned threads = 1, size_t *cutTexts = nullptr,
      transom_embed_options options = transom_embed_options_default()) {
  SessionConfig config = makeConfig(batch, tokens, threads);
  config.holdResults = true;
  auto session = makeSession(model, config);
  std::vector<float> out(texts.size() * FAKE_WIDTH, -9);
  size_t cut = 0;
  Result<void> done = embedTexts(*session, texts.data(), texts.size(), options,
                                 out.data(), cut);
  EXPECT_TRUE(bool(done)) << done.error().message;
  if (cutTexts)
    *cutTexts = cut;
  return out;
}

} // namespace transom::test
