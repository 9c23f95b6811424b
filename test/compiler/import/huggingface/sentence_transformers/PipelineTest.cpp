// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipeline entries; test/e2e checks their results.
#include "dialects/attn/Attn.h"
#include "test/compiler/import/huggingface/sentence_transformers/PipelineFolder.h"

using namespace transom;
using namespace transom::testing;

namespace {
/// A copy of a golden pipeline to modify.
class GoldenPipeline : public PipelineFolder {
public:
  explicit GoldenPipeline(const std::string &name) {
    namespace fs = std::filesystem;
    fs::copy(sourceFolder() + "/test/goldens/pipelines/" + name, path,
             fs::copy_options::recursive |
                 fs::copy_options::overwrite_existing);
  }
};

/// A pipeline entry and its only result.
struct PipelineEntry {
  mlir::func::FuncOp function;
  std::string result, size;
};

PipelineEntry getEntry(Imported &model, const std::string &name) {
  PipelineEntry entry;
  EXPECT_TRUE(model.module) << model.error.message;
  if (!model.module)
    return entry;
  entry.function = model.module->lookupSymbol<mlir::func::FuncOp>(name);
  EXPECT_TRUE(entry.function) << model.text();
  if (!entry.function || entry.function.getNumResults() != 1)
    return entry;
  entry.result =
      entry.function.getResultAttrOfType<mlir::StringAttr>(0, "attn.name")
          .str();
  for (const Polynomial &dim :
       attn::getSymbolicShape(entry.function.getResultTypes()[0]))
    entry.size += (entry.size.empty() ? "" : " x ") + dim.str();
  return entry;
}

template <typename Op> size_t count(PipelineEntry &entry) {
  size_t found = 0;
  entry.function.walk([&](Op) { ++found; });
  return found;
}
} // namespace

TEST(Pipeline, embeds_with_all_modules) {
  Imported model(GoldenPipeline("dense").path);
  PipelineEntry entry = getEntry(model, "embed");
  EXPECT_EQ(entry.result, "sentence_embedding");
  EXPECT_EQ(entry.size, "batch x 16");
  EXPECT_EQ(count<attn::PoolOp>(entry), 1u);
  EXPECT_EQ(count<attn::RmsNormOp>(entry), 1u); // to length 1
  EXPECT_TRUE(model.info.unusedTensors.empty() ||
              model.info.unusedTensors.front().find("Dense") ==
                  std::string::npos);
  EXPECT_EQ(model.info.inputFiles,
            (std::vector<std::string>{"config.json", "model.safetensors",
                                      "2_Dense/model.safetensors",
                                      "3_LayerNorm/model.safetensors"}));
}

TEST(Pipeline, puts_vectors_side_by_side) {
  Imported model(GoldenPipeline("old-flags").path);
  PipelineEntry entry = getEntry(model, "embed");
  EXPECT_EQ(entry.size, "batch x 72");
  EXPECT_EQ(count<attn::PoolOp>(entry), 3u);
}

TEST(Pipeline, masks_prompts) {
  Imported model(GoldenPipeline("prompts-not-pooled").path);
  PipelineEntry entry = getEntry(model, "embed");
  EXPECT_EQ(entry.function
                .getArgAttrOfType<mlir::StringAttr>(
                    entry.function.getNumArguments() - 1, "attn.name")
                .str(),
            "pooling_mask");
  EXPECT_EQ(count<attn::AndOp>(entry), 1u);
}

TEST(Pipeline, gives_weights_of_terms_and_vectors_of_tokens) {
  Imported sparse(GoldenPipeline("splade").path);
  PipelineEntry entry = getEntry(sparse, "sparse");
  EXPECT_EQ(entry.result, "sparse_embedding");
  EXPECT_EQ(entry.size, "batch x 39");
  Imported late(GoldenPipeline("tokens").path);
  entry = getEntry(late, "token_embeddings");
  EXPECT_EQ(entry.size, "batch x seq x 12");
}

TEST(Pipeline, runs_decoders_over_whole_texts) {
  Imported model(GoldenPipeline("qwen-last").path);
  PipelineEntry entry = getEntry(model, "embed");
  EXPECT_EQ(count<attn::CacheOp>(entry), 0u);
  entry.function.walk([](attn::SdpaOp op) { EXPECT_TRUE(op.getCausal()); });
  EXPECT_TRUE(model.module->lookupSymbol("step"));
}

TEST(Pipeline, rejects_modules_that_do_not_fit) {
  GoldenPipeline folder("dense");
  folder.write("2_Dense/config.json",
               R"({"in_features": 23, "out_features": 16})");
  expectError(folder.path, Status::Rejected,
              {"2_Dense/config.json: '/in_features': 23, but the module before "
               "it gives vectors of 24"});
  folder.write("2_Dense/config.json",
               R"({"in_features": 24, "out_features": 17})");
  expectError(folder.path, Status::Rejected,
              {"tensor '2_Dense/linear.bias' has shape [16], expected [17]"});
  folder.write("2_Dense/config.json",
               R"({"in_features": 24, "out_features": 16})");
  folder.write("3_LayerNorm/config.json", R"({"dimension": 15})");
  expectError(folder.path, Status::Rejected,
              {"3_LayerNorm/config.json: '/dimension': 15"});
}

TEST(Pipeline, is_left_out_where_it_is_refused) {
  GoldenPipeline folder("dense");
  std::filesystem::remove(folder.path + "/2_Dense/model.safetensors");
  Imported model(folder.path);
  ASSERT_TRUE(model.module) << model.error.message;
  EXPECT_EQ(model.info.pipeline->refusal,
            "modules.json: module '2_Dense' has no 2_Dense/model.safetensors; "
            "other formats are not read");
  EXPECT_FALSE(model.module->lookupSymbol("embed"));
  EXPECT_TRUE(model.module->lookupSymbol("encode"));
}

TEST(Pipeline, needs_a_head_for_logits) {
  GoldenPipeline folder("mean");
  folder.writeModules({"MLMTransformer", "Pooling"});
  folder.write("m1/config.json", "{}");
  std::filesystem::remove(folder.path + "/sentence_bert_config.json");
  Imported model(folder.path);
  ASSERT_TRUE(model.module) << model.error.message;
  EXPECT_EQ(model.info.pipeline->refusal,
            "modules.json: the Transformer gives logits of masked tokens, but "
            "'BertModel' has no head for them");
}

TEST(Pipeline, scores_pairs_by_the_rows_of_two_tokens) {
  Imported model(GoldenPipeline("../tasks/qwen3-chat-rerank").path);
  PipelineEntry entry = getEntry(model, "rerank");
  EXPECT_EQ(entry.result, "logits");
  EXPECT_EQ(entry.size, "batch x 2");
  EXPECT_EQ(count<attn::PoolOp>(entry), 1u);
  // The head has only the rows for the two tokens.
  size_t largest = 0;
  entry.function.walk([&](attn::LinearOp op) {
    largest = std::max(largest,
                       size_t(*attn::getSymbolicShape(op.getResult().getType())
                                   .back()
                                   .constant()));
  });
  EXPECT_LT(largest, 332u);
}

TEST(Pipeline, needs_a_causal_head_for_scores) {
  GoldenPipeline folder("../tasks/bert-modules-rerank");
  folder.write("sentence_bert_config.json",
               R"({"transformer_task": "text-generation"})");
  folder.writeModules({"Transformer", "LogitScore"});
  folder.write("m1/config.json", R"({"true_token_id": 5})");
  Imported model(folder.path);
  ASSERT_TRUE(model.module) << model.error.message;
  EXPECT_EQ(model.info.pipeline->refusal,
            "modules.json: the Transformer scores texts by a head of the kind "
            "'causal_lm', but 'BertForSequenceClassification' has none of it");
}
