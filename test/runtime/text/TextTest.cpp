// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts through a tokenizer and the artifact by hand: pooling, normalisation,
// cuts, labels, and the same bits alone and in any company.
#include "runtime/text/Text.h"
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "test/support/fake/Fake.h"
#include <cmath>
#include <cstring>

using namespace transom;
using namespace transom::test;

/// Words a, b, c between [CLS] and [SEP].
static const char tokenizerJson[] = R"({"version": "1.0",
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
 "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 10, "b": 20, "c": 30}}})";

static const std::string &tables() {
  static const std::string made = [] {
    auto imported = importTokenizer(tokenizerJson, "tokenizer.json");
    EXPECT_TRUE(bool(imported)) << imported.error().message;
    return imported ? imported->tables : std::string();
  }();
  return made;
}

static Manifest textManifest() {
  Manifest manifest = fakeManifest();
  manifest.text = ManifestText{true, 8, "mean", false};
  return manifest;
}

static transom_text text(const char *words) {
  return {words, std::strlen(words)};
}

/// Embeddings of texts with a session for this batch and number of tokens.
static std::vector<float>
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

TEST(Text, mean_and_first_token) {
  auto model = fakeModel(textManifest(), tables());
  // Ids 2 10 20 3: mean 8.75; rows = id + weight + 0.75 * (mean + weight).
  float mean = 8.75f;
  std::vector<float> out = embed(*model, {text("a B")}, 1, 16);
  for (int i = 0; i != FAKE_WIDTH; ++i)
    EXPECT_FLOAT_EQ(out[size_t(i)], 1.75f * (mean + float(i + 1)));
  transom_embed_options options = transom_embed_options_default();
  options.pooling = TRANSOM_POOLING_CLS;
  out = embed(*model, {text("a b")}, 1, 16, 1, nullptr, options);
  for (int i = 0; i != FAKE_WIDTH; ++i)
    EXPECT_FLOAT_EQ(out[size_t(i)],
                    2 + float(i + 1) + 0.75f * (mean + float(i + 1)));
  options.normalize = 1;
  out = embed(*model, {text("a b")}, 1, 16, 1, nullptr, options);
  float length = 0;
  for (float value : out)
    length += value * value;
  EXPECT_NEAR(length, 1.0f, 1e-6f);
}

TEST(Text, same_bits_alone_and_in_any_batch) {
  auto model = fakeModel(textManifest(), tables());
  const char *words[] = {"a", "b c", "", "c c c c a", "a b", "zzz a b", "b"};
  std::vector<transom_text> texts;
  std::vector<float> alone;
  for (int i = 0; i != 60; ++i) {
    texts.push_back(text(words[i * 5 % 7]));
    std::vector<float> one = embed(*model, {texts.back()}, 1, 8);
    alone.insert(alone.end(), one.begin(), one.end());
  }
  for (int64_t batch : {1, 3, 60})
    for (int64_t tokens : {8, 19, 500})
      for (unsigned threads : {1u, 3u})
        EXPECT_EQ(embed(*model, texts, batch, tokens, threads), alone);
}

TEST(Text, counts_texts_that_were_cut) {
  auto model = fakeModel(textManifest(), tables());
  size_t cut = 9;
  std::vector<float> out = embed(
      *model, {text("a a a a a a b b b"), text("a"), text("a a a a a a c")}, 2,
      16, 1, &cut);
  EXPECT_EQ(cut, 2u);
  EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + 4),
            std::vector<float>(out.begin() + 8, out.end()));
}

TEST(Text, names_the_text_in_errors) {
  auto model = fakeModel(textManifest(), tables());
  SessionConfig config = makeConfig(2, 64);
  config.holdResults = true;
  auto session = makeSession(*model, config);
  transom_text texts[] = {text("a"), {"\xff", 1}};
  std::vector<float> out(8);
  size_t cut;
  Result<void> done = embedTexts(
      *session, texts, 2, transom_embed_options_default(), out.data(), cut);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Rejected);
  EXPECT_EQ(done.error().message.substr(0, 8), "text 1: ");
}

TEST(Text, refuses_unknown_parts_on_demand) {
  auto model = fakeModel(textManifest(), tables());
  transom_tokenize_options options = transom_tokenize_options_default();
  const transom_text known = text("a B"), unknown = text("a zz b");
  ASSERT_TRUE(encodeText(*model, unknown, nullptr, options));
  options.refuse_unknown = 1;
  EXPECT_TRUE(encodeText(*model, known, &known, options));
  for (const transom_text &first : {known, unknown}) {
    Result<Encoding> encoding = encodeText(*model, first, &unknown, options);
    ASSERT_FALSE(encoding);
    EXPECT_EQ(encoding.error().status, Status::Rejected);
    EXPECT_EQ(encoding.error().message, "the tokenizer has no token for 'zz'");
  }
}

TEST(Text, models_without_tokenizer_or_head) {
  auto plain = fakeModel(textManifest());
  SessionConfig config = makeConfig(2, 64);
  config.holdResults = true;
  auto session = makeSession(*plain, config);
  transom_text one = text("a");
  float out[4];
  size_t cut;
  Result<void> done =
      embedTexts(*session, &one, 1, transom_embed_options_default(), out, cut);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Unsupported);
  auto encoder = fakeModel(textManifest(), tables());
  session = makeSession(*encoder, config);
  done = classifyTexts(*session, &one, nullptr, 1, out, cut);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Unsupported);
}

TEST(Text, scores_of_texts_and_pairs) {
  Manifest manifest = textManifest();
  manifest.labels = {"w", "x", "y", "z"};
  manifest.entries[0].outputs[1].name = "logits";
  auto model = fakeModel(manifest, tables());
  SessionConfig config = makeConfig(2, 64);
  config.holdResults = true;
  auto session = makeSession(*model, config);
  transom_text texts[] = {text("a"), text("a"), text("a")};
  transom_text pairs[] = {{nullptr, 0}, text("b"), {nullptr, 0}};
  std::vector<float> scores(12);
  size_t cut;
  Result<void> done =
      classifyTexts(*session, texts, pairs, 3, scores.data(), cut);
  ASSERT_TRUE(bool(done)) << done.error().message;
  // Logits rise by 1.75 from label to label, whatever the text.
  double sum = 0;
  for (int i = 0; i != 4; ++i)
    sum += std::exp(1.75 * i);
  for (size_t i = 0; i != 12; ++i)
    EXPECT_NEAR(scores[i], std::exp(1.75 * double(i % 4)) / sum, 1e-5);
}

TEST(Text, scores_are_what_the_labels_are) {
  float logits[] = {0, 2, -2}, scores[3];
  computeLabelScores(logits, 3, LabelScores::Raw, scores);
  EXPECT_TRUE(std::equal(scores, scores + 3, logits));
  computeLabelScores(logits, 3, LabelScores::Sigmoid, scores);
  EXPECT_FLOAT_EQ(scores[0], 0.5f);
  EXPECT_FLOAT_EQ(scores[1], float(1 / (1 + std::exp(-2.0))));
  computeLabelScores(logits, 3, LabelScores::Softmax, scores);
  EXPECT_FLOAT_EQ(scores[0] + scores[1] + scores[2], 1);
  float huge[] = {1000, -1000};
  computeLabelScores(huge, 2, LabelScores::Softmax, scores);
  EXPECT_EQ(scores[0], 1.0f);
  EXPECT_EQ(scores[1], 0.0f);
}

TEST(Text, scores_of_tokens) {
  Manifest manifest = textManifest();
  manifest.labels = {"w", "x", "y", "z"};
  manifest.entries[0].outputs[0].name = "logits";
  auto model = fakeModel(manifest, tables());
  SessionConfig config = makeConfig(1, 64);
  config.holdResults = true;
  auto session = makeSession(*model, config);
  Encoding encoding;
  std::vector<float> scores;
  Result<void> done = classifyTokens(*session, text("a b"), encoding, scores);
  ASSERT_TRUE(bool(done)) << done.error().message;
  EXPECT_EQ(encoding.ids, (std::vector<int64_t>{2, 10, 20, 3}));
  ASSERT_EQ(scores.size(), 16u);
  for (size_t i = 0; i != 16; i += 4)
    EXPECT_NEAR(scores[i] + scores[i + 1] + scores[i + 2] + scores[i + 3], 1,
                1e-6);
}
