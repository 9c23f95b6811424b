// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words from tokens, and spans from words.
#include "runtime/text/Tags.h"
#include "test/runtime/text/TextModel.h"

using namespace transom;
using namespace transom::test;

namespace {

const std::vector<std::string> labels = {"O", "B-X", "I-X", "Y"};

/// One-byte tokens with spaces between them, except where they continue.
struct Tokens {
  std::vector<std::vector<float>> rows;
  std::vector<TaggedToken> list;

  explicit Tokens(std::vector<std::pair<std::vector<float>, bool>> given) {
    size_t at = 0;
    for (auto &[row, continues] : given)
      rows.push_back(row);
    for (size_t i = 0; i != given.size(); ++i) {
      at += i && !given[i].second;
      list.push_back({i, at, at + 1, given[i].second, rows[i].data()});
      ++at;
    }
  }

  /// Spans as `label begin-end score`.
  std::vector<std::string> merge(transom_span_merge how) const {
    std::vector<std::string> texts;
    for (const transom_span &span : mergeTokens(list, labels, how)) {
      char text[64];
      std::snprintf(text, sizeof text, "%s %zu-%zu %.2f",
                    labels[span.label].c_str(), span.begin, span.end,
                    double(span.score));
      texts.push_back(text);
    }
    return texts;
  }
};

using Spans = std::vector<std::string>;

} // namespace

TEST(Tags, names_of_labels) {
  EXPECT_TRUE(splitTag("B-PER").begins);
  EXPECT_EQ(splitTag("B-PER").name, "PER");
  EXPECT_FALSE(splitTag("I-PER").begins);
  EXPECT_EQ(splitTag("I-PER").name, "PER");
  EXPECT_EQ(splitTag("PER").name, "PER");
  EXPECT_EQ(splitTag("B").name, "B");
}

TEST(Tags, spans_end_at_other_names_and_before_beginnings) {
  const Tokens tokens({{{0, 0.9f, 0, 0.1f}, false},
                       {{0.2f, 0, 0.7f, 0.1f}, false},
                       {{0, 0.8f, 0.2f, 0}, false},
                       {{0.6f, 0, 0, 0.4f}, false},
                       {{0, 0, 0, 1}, false}});
  EXPECT_EQ(tokens.merge(TRANSOM_SPAN_MERGE_NONE),
            (Spans{"B-X 0-1 0.90", "I-X 2-3 0.70", "B-X 4-5 0.80", "O 6-7 0.60",
                   "Y 8-9 1.00"}));
  EXPECT_EQ(
      tokens.merge(TRANSOM_SPAN_MERGE_SIMPLE),
      (Spans{"B-X 0-3 0.80", "B-X 4-5 0.80", "O 6-7 0.60", "Y 8-9 1.00"}));
}

TEST(Tags, words_have_one_label) {
  const Tokens tokens({{{0.4f, 0.5f, 0.1f, 0}, false},
                       {{0.1f, 0.1f, 0, 0.8f}, true},
                       {{0.9f, 0.1f, 0, 0}, true}});
  EXPECT_EQ(tokens.merge(TRANSOM_SPAN_MERGE_SIMPLE),
            (Spans{"B-X 0-1 0.50", "Y 1-2 0.80", "O 2-3 0.90"}));
  EXPECT_EQ(tokens.merge(TRANSOM_SPAN_MERGE_FIRST), Spans{"B-X 0-3 0.50"});
  EXPECT_EQ(tokens.merge(TRANSOM_SPAN_MERGE_AVERAGE), Spans{"O 0-3 0.47"});
  EXPECT_EQ(tokens.merge(TRANSOM_SPAN_MERGE_MAX), Spans{"O 0-3 0.90"});
}

TEST(Tags, tokens_that_continue_words) {
  auto model = fakeModel(textManifest(), tables());
  const char *words = "ac zz a\u00e9";
  Result<Encoding> encoding = encodeText(*model, text(words), nullptr,
                                         transom_tokenize_options_default());
  ASSERT_TRUE(encoding) << encoding.error().message;
  const std::vector<float> scores(encoding->ids.size());
  const std::vector<TaggedToken> tokens =
      getTaggedTokens(*model->tokenizer(), words, *encoding, scores, 1);
  ASSERT_EQ(tokens.size(), 4u); // a ##c [UNK] [UNK]
  EXPECT_EQ(tokens[0].index, 1u);
  EXPECT_FALSE(tokens[0].continues);
  EXPECT_TRUE(tokens[1].continues);
  EXPECT_FALSE(tokens[2].continues);
  EXPECT_FALSE(tokens[3].continues);
  EXPECT_EQ(tokens[3].end, std::strlen(words));
}

TEST(Tags, models_that_classify_no_tokens) {
  auto model = fakeModel(textManifest(), tables());
  auto session = makeTextSession(*model);
  bool cut;
  auto spans = tagText(*session, text("a"), TRANSOM_SPAN_MERGE_SIMPLE, cut);
  ASSERT_FALSE(spans);
  EXPECT_EQ(spans.error().status, Status::Unsupported);
  spans = tagText(*session, text("a"), transom_span_merge(5), cut);
  ASSERT_FALSE(spans);
  EXPECT_EQ(spans.error().status, Status::Usage);
}
