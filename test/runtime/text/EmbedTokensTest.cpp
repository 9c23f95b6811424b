// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Query and document tokens that have vectors.
#include "runtime/text/EmbedTokens.h"
#include "test/runtime/text/TextModel.h"

using namespace transom;
using namespace transom::test;

namespace {
/// A model that embeds tokens by these rules.
class TokenModel {
public:
  explicit TokenModel(const ManifestTokens &rules) {
    Manifest manifest = textManifest();
    manifest.text->pipeline = ManifestPipeline{
        "encode", "", {{"query", "b "}, {"document", ""}}, "", "", 0, 0, rules};
    model = fakeModel(manifest, tables());
    SessionConfig config = makeConfig(1, 64);
    config.holdResults = true;
    session = makeSession(*model, config);
  }
  TokenVectors embed(const char *words, const char *prompt = nullptr) {
    transom_embed_options options = transom_embed_options_default();
    options.prompt_name = prompt;
    Result<TokenVectors> found = embedTokens(*session, text(words), options);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : TokenVectors();
  }

  std::unique_ptr<Model> model;
  std::unique_ptr<Session> session;
};

using Ids = std::vector<int64_t>;
} // namespace

TEST(EmbedTokens, gives_a_vector_for_each_token) {
  TokenModel model({});
  TokenVectors found = model.embed("a B");
  EXPECT_EQ(found.ids, (Ids{2, 10, 20, 3}));
  EXPECT_EQ(found.vectors.size(), 4u * FAKE_WIDTH);
  EXPECT_FALSE(found.isCut);
  EXPECT_EQ(model.embed("").ids, (Ids{2, 3}));
}

TEST(EmbedTokens, fills_queries_up) {
  ManifestTokens rules;
  rules.expansion = 6;
  rules.attends = true;
  rules.expansionToken = "c";
  TokenModel model(rules);
  EXPECT_EQ(model.embed("a", "query").ids, (Ids{2, 20, 10, 3, 30, 30}));
  EXPECT_EQ(model.embed("a", "document").ids, (Ids{2, 10, 3}));
  TokenVectors cut = model.embed("a a a a a a", "query");
  EXPECT_EQ(cut.ids, (Ids{2, 20, 10, 10, 10, 3}));
  EXPECT_TRUE(cut.isCut);
  rules.keepsLongQueries = true;
  EXPECT_EQ(TokenModel(rules).embed("a a a a", "query").ids,
            (Ids{2, 20, 10, 10, 10, 10, 3}));
  rules.expansionToken = "zz";
  TokenModel wrong(rules);
  transom_embed_options options = transom_embed_options_default();
  options.prompt_name = "query";
  Result<TokenVectors> found = embedTokens(*wrong.session, text("a"), options);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            "the tokenizer has no token 'zz' to expand queries by");
}

TEST(EmbedTokens, cuts_texts_to_the_length_of_their_kind) {
  ManifestTokens rules;
  rules.queryLength = 5;
  rules.documentLength = 3;
  TokenModel model(rules);
  EXPECT_EQ(model.embed("a b c", "query").ids, (Ids{2, 20, 10, 20, 3}));
  EXPECT_EQ(model.embed("a b c").ids, (Ids{2, 10, 3}));
}

TEST(EmbedTokens, leaves_the_skiplist_out) {
  ManifestTokens rules;
  rules.skiplist = {"a", "not a token"};
  rules.skiplistTasks = {"document"};
  TokenModel model(rules);
  TokenVectors found = model.embed("a b");
  EXPECT_EQ(found.ids, (Ids{2, 20, 3}));
  EXPECT_EQ(found.vectors.size(), 3u * FAKE_WIDTH);
  EXPECT_EQ(model.embed("a", "query").ids, (Ids{2, 20, 10, 3}));
}

TEST(EmbedTokens, puts_a_prefix_in_as_one_token) {
  ManifestTokens rules;
  rules.prefixes = {"b "};
  TokenModel model(rules);
  EXPECT_EQ(model.embed("", "query").ids, (Ids{2, 20, 3}));
  EXPECT_EQ(model.embed("a", "query").ids, (Ids{2, 20, 10, 3}));
}

TEST(EmbedTokens, has_the_same_bits_in_batches) {
  ManifestTokens rules;
  rules.expansion = 6;
  rules.expansionToken = "c";
  rules.skiplist = {"a"};
  rules.skiplistTasks = {"document"};
  Manifest manifest = textManifest();
  manifest.text->pipeline = ManifestPipeline{
      "encode", "", {{"query", "b "}, {"document", ""}}, "", "", 0, 0, rules};
  auto model = fakeModel(manifest, tables());
  const char *words[] = {"a", "b c", "", "c c c c a", "a b a b c c c c", "b"};
  std::vector<transom_text> texts;
  for (int i = 0; i != 40; ++i)
    texts.push_back(text(words[i * 5 % 6]));
  for (const char *prompt : {"query", "document"}) {
    transom_embed_options options = transom_embed_options_default();
    options.prompt_name = prompt;
    for (int64_t batch : {1, 3, 16}) {
      SessionConfig config = makeConfig(batch, 40);
      config.holdResults = true;
      auto session = makeSession(*model, config);
      std::vector<TokenVectors> found(texts.size());
      ASSERT_TRUE(embedTokens(*session, texts.data(), texts.size(), options, {},
                              [&](size_t i, TokenVectors vectors) {
                                found[i] = std::move(vectors);
                              }));
      for (size_t i = 0; i != texts.size(); ++i) {
        Result<TokenVectors> alone = embedTokens(*session, texts[i], options);
        ASSERT_TRUE(alone);
        EXPECT_EQ(found[i].ids, alone->ids);
        EXPECT_EQ(found[i].vectors, alone->vectors);
        EXPECT_EQ(found[i].isCut, alone->isCut);
      }
    }
  }
}

TEST(EmbedTokens, is_of_models_with_vectors_of_tokens) {
  auto model = fakeModel(textManifest(), tables());
  SessionConfig config = makeConfig(1, 64);
  config.holdResults = true;
  auto session = makeSession(*model, config);
  Result<TokenVectors> found =
      embedTokens(*session, text("a"), transom_embed_options_default());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().status, Status::Unsupported);
}
