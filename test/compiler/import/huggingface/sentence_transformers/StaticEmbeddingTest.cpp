// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector tables in the layouts of sentence-transformers and model2vec, and
// folders without a model; test/e2e/check-pipelines.py checks their results.
#include "compiler/import/huggingface/sentence_transformers/StaticEmbedding.h"
#include "test/compiler/import/huggingface/sentence_transformers/PipelineFolder.h"

using namespace transom;
using namespace transom::testing;

TEST(StaticEmbedding, is_a_lookup_and_a_mean) {
  PipelineFolder folder;
  folder.writeModules({"StaticEmbedding", "Normalize"});
  folder.writeTensors({{"embedding.weight", {9, 4}}});
  Imported model(folder.path);
  const std::string text = model.text();
  EXPECT_EQ(getCount(text, "attn.embedding"), 1u) << text;
  EXPECT_EQ(getCount(text, "attn.pool <mean>"), 1u) << text;
  EXPECT_EQ(getCount(text, "attn.sdpa"), 0u);
  EXPECT_EQ(getCount(text, "attn.rms_norm"), 1u) << text;
  EXPECT_EQ(model.info.architecture, "StaticEmbedding");
  EXPECT_EQ(model.info.pipeline->entry, "embed");
  EXPECT_EQ(model.info.parameters, 36u);
}

TEST(StaticEmbedding, has_a_factor_for_each_token) {
  PipelineFolder folder;
  folder.writeModules({"StaticEmbedding"});
  folder.writeTensors({{"embeddings", {9, 4}}, {"weights", {9}}});
  Imported model(folder.path);
  EXPECT_EQ(getCount(model.text(), "attn.embedding"), 2u) << model.text();
  folder.writeTensors({{"embeddings", {9, 4}}, {"weights", {8}}});
  expectError(folder.path, Status::Rejected, {"'weights'", "[8]", "[9]"});
  // The sentence-transformers key has precedence.
  folder.writeTensors(
      {{"embedding.weight", {7, 4}}, {"embeddings", {9, 4}}, {"weights", {9}}});
  Imported other(folder.path);
  EXPECT_EQ(getCount(other.text(), "attn.embedding"), 1u);
  EXPECT_EQ(other.info.parameters, 28u);
}

TEST(StaticEmbedding, refuses_what_it_does_not_read) {
  PipelineFolder folder;
  folder.writeModules({"StaticEmbedding"});
  expectError(folder.path, Status::Unavailable, {"has no 'model.safetensors'"});
  folder.writeTensors({{"embeddings", {9, 4}}, {"mapping", {12}}});
  expectError(folder.path, Status::Unsupported,
              {"tensor 'mapping'", "a vector for each token"});
  folder.writeTensors({{"table", {9, 4}}});
  expectError(folder.path, Status::Rejected, {"no tensor 'embedding.weight'"});
  folder.writeTensors({{"embedding.weight", {9}}});
  expectError(folder.path, Status::Rejected,
              {"'embedding.weight' has 1 dimensions"});
  folder.writeTensors({{"embedding.weight", {9, 4}}}, "model.safetensors",
                      DType::I8);
  expectError(folder.path, Status::Unsupported, {"embedding.weight", "I8"});
  folder.writeTensors({{"embedding.weight", {9, 4}}});
  folder.writeModules({"StaticEmbedding", "Pooling"});
  folder.write("m1/config.json", "{}");
  expectError(folder.path, Status::Rejected,
              {"reads 'token_embeddings', which no module before it makes"});
  folder.writeModules({"StaticEmbedding", "WordWeights"});
  expectError(folder.path, Status::Unsupported,
              {"/modules.json: module", "WordWeights' is not supported"});
}

TEST(StaticEmbedding, is_not_a_router_or_a_sparse_table) {
  for (const std::string name : {"Router", "SparseStaticEmbedding", "BoW"}) {
    PipelineFolder folder;
    folder.writeModules({name});
    expectError(folder.path, Status::Unsupported,
                {"/modules.json: module 'sentence_transformers.models." + name +
                 "' is not supported; supported of sentence_transformers: "});
  }
}
