// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Late interaction keys in PyLate and sentence-transformers.
#include "test/compiler/import/huggingface/sentence_transformers/PipelineFolder.h"

using namespace transom;
using namespace transom::testing;

namespace {
/// A token pipeline.
class TokenFolder : public PipelineFolder {
public:
  TokenFolder() { writeModules({"Transformer", "MultiVectorMask"}); }
  ManifestTokens get() const {
    auto found = read();
    EXPECT_TRUE(found && *found && (*found)->tokens) << found.error().message;
    return found && (*found)->tokens ? *(*found)->tokens : ManifestTokens();
  }
};

using PipelineTexts = std::vector<std::string>;
} // namespace

TEST(PipelineTokens, of_pylate) {
  TokenFolder folder;
  folder.writeModules({"Transformer", "pylate.models.Dense.Dense"});
  folder.write("m1/config.json", R"({"in_features": 4, "out_features": 2})");
  folder.write("config_sentence_transformers.json",
               R"({"model_type": "ColBERT", "query_prefix": "[Q] ",
                   "document_prefix": "[D] ", "query_length": 16,
                   "document_length": 90, "prompts": {"query": "find "},
                   "attend_to_expansion_tokens": true})");
  ManifestTokens rules = folder.get();
  EXPECT_EQ(rules.expansion, 16);
  EXPECT_EQ(rules.queryLength, 0);
  EXPECT_EQ(rules.documentLength, 90);
  EXPECT_TRUE(rules.attends);
  EXPECT_EQ(rules.skiplist.size(), 32u); // ASCII's punctuation
  EXPECT_EQ(rules.skiplistTasks, PipelineTexts{"document"});
  EXPECT_EQ(rules.prefixes, (PipelineTexts{"[Q] ", "[D] "}));
  auto prompts = (*folder.read())->prompts;
  EXPECT_EQ(prompts[0].second, "[Q] find ");
  EXPECT_EQ(prompts[1].second, "[D] ");
}

TEST(PipelineTokens, without_expansion) {
  TokenFolder folder;
  folder.write("config_sentence_transformers.json",
               R"({"model_type": "ColBERT", "query_length": 16,
                   "skiplist_words": ["!"], "do_query_expansion": false})");
  ManifestTokens rules = folder.get();
  EXPECT_EQ(rules.expansion, 0);
  EXPECT_EQ(rules.queryLength, 16);
}

TEST(PipelineTokens, of_modules) {
  TokenFolder folder;
  folder.write("sentence_bert_config.json",
               R"({"query_length": 20, "document_length": 30,
                   "query_expansion": {"strategy": "min", "length": 8,
                                       "token": "[X]"}})");
  folder.write("m1/config.json", R"({"skiplist_words": ["a", "b"],
                                     "skiplist_tasks": "query"})");
  ManifestTokens rules = folder.get();
  EXPECT_EQ(rules.queryLength, 20);
  EXPECT_EQ(rules.expansion, 8);
  EXPECT_TRUE(rules.keepsLongQueries);
  EXPECT_FALSE(rules.attends);
  EXPECT_EQ(rules.expansionToken, "[X]");
  EXPECT_EQ(rules.skiplist, (PipelineTexts{"a", "b"}));
  EXPECT_EQ(rules.skiplistTasks, PipelineTexts{"query"});
}

TEST(PipelineTokens, refuses_and_rejects) {
  TokenFolder folder;
  folder.write("m1/config.json", R"({"keep_only_token_ids": [3]})");
  EXPECT_NE(folder.getRefusal().find("'keep_only_token_ids' is not supported"),
            std::string::npos);
  folder.write("sentence_bert_config.json",
               R"({"query_expansion": {"strategy": "all", "length": 8}})");
  EXPECT_NE(folder.getError().find("unknown strategy 'all'; known: fixed, min"),
            std::string::npos);
}
