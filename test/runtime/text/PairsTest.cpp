// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs as two texts and as a template's text, whole and truncated.
#include "runtime/text/Pairs.h"
#include "test/runtime/text/TextModel.h"

using namespace transom;
using namespace transom::test;

namespace {

using Ids = std::vector<int64_t>;

std::unique_ptr<Model> makeModel(std::optional<ManifestPairs> pairs,
                                 int64_t most = 8) {
  Manifest manifest = textManifest();
  manifest.text->maxLength = most;
  manifest.text->pairs = std::move(pairs);
  return fakeModel(manifest, tables());
}

/// "a QUERY b DOCUMENT c c", after the prompt if there is one.
ManifestPairs makeTemplates() {
  ManifestPairs pairs;
  pairs.plain = {{"a ", " b ", " c c"}, {"query", "document"}};
  pairs.prompted = {{"", " a ", " b ", " c c"},
                    {"prompt", "query", "document"}};
  return pairs;
}

Ids encode(const Model &model, const char *prompt, const char *query,
           const char *document, bool isCut = false) {
  auto encoder = PairEncoder::create(model, prompt, text(query));
  EXPECT_TRUE(bool(encoder)) << encoder.error().message;
  auto encoding = encoder->encode(text(document));
  EXPECT_TRUE(bool(encoding)) << encoding.error().message;
  EXPECT_EQ(encoding->truncatedTokens != 0, isCut);
  return encoding->ids;
}

} // namespace

TEST(Pairs, are_two_texts_without_a_template) {
  auto model = makeModel(std::nullopt);
  EXPECT_EQ(encode(*model, "", "a", "b"), (Ids{2, 10, 3, 20, 3}));
  EXPECT_EQ(encode(*model, "c ", "a", "b"), (Ids{2, 30, 10, 3, 20, 3}));
}

TEST(Pairs, are_what_the_template_makes_of_them) {
  auto model = makeModel(makeTemplates());
  EXPECT_EQ(encode(*model, "", "b", "a"), (Ids{10, 20, 20, 10, 30, 30}));
  EXPECT_EQ(encode(*model, "c", "b", "a"), (Ids{30, 10, 20, 20, 10, 30, 30}));
}

TEST(Pairs, keep_the_end_of_a_template) {
  auto model = makeModel(makeTemplates());
  EXPECT_EQ(encode(*model, "", "b", "a a a"),
            (Ids{10, 20, 20, 10, 10, 10, 30, 30}));
  // The tokenizer has none of the digits that mark the end, so one of them is
  // part of it.
  EXPECT_EQ(encode(*model, "", "b", "a a a b b", true),
            (Ids{10, 20, 20, 10, 10, 1, 30, 30}));
  EXPECT_EQ(encode(*makeModel(makeTemplates(), 1), "", "b", "a", true),
            (Ids{30}));
}

TEST(Pairs, are_refused_by_the_files) {
  ManifestPairs pairs;
  pairs.refusal = "no such module";
  auto model = makeModel(pairs);
  auto encoder = PairEncoder::create(*model, "", text("a"));
  ASSERT_FALSE(encoder);
  EXPECT_EQ(encoder.error().status, Status::Unsupported);
  EXPECT_EQ(encoder.error().message, "no such module");
}
