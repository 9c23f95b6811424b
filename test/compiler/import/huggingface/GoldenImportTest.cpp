// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The golden models import to verified modules with their families' operations,
// each with a location.
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "test/compiler/import/Fixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

struct GoldenCase {
  const char *folder;
  const char *architecture;
  size_t linears, tanhs, results, arguments, softmaxes = 2;
};

class GoldenImport : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenImport, gives_a_verified_module) {
  const GoldenCase &golden = GetParam();
  Imported result(sourceFolder() + "/test/goldens/" + golden.folder);
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(result.info.architecture, golden.architecture);
  EXPECT_EQ(result.info.notes, std::vector<std::string>{});
  size_t linears = 0, tanhs = 0, softmaxes = 0;
  result.module->walk([&](mlir::Operation *op) {
    linears += mlir::isa<attn::LinearOp>(op);
    softmaxes += mlir::isa<attn::SoftmaxOp>(op);
    if (auto activation = mlir::dyn_cast<attn::ActivationOp>(op))
      tanhs += activation.getKind() == Activation::Tanh;
    EXPECT_TRUE(hasModulePath(op->getLoc()))
        << op->getName().getStringRef().str();
  });
  EXPECT_EQ(linears, golden.linears);
  EXPECT_EQ(tanhs, golden.tanhs);
  EXPECT_EQ(softmaxes, golden.softmaxes);
  auto entry = result.module->lookupSymbol<mlir::func::FuncOp>("encode");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry.getNumResults(), golden.results);
  EXPECT_EQ(entry.getNumArguments(), golden.arguments);
}

INSTANTIATE_TEST_SUITE_P(
    all, GoldenImport,
    ::testing::Values(
        GoldenCase{"albert", "AlbertModel", 62, 1, 2, 3, 10},
        GoldenCase{"bert", "BertModel", 13, 1, 2, 3},
        GoldenCase{"bert-mlm", "BertForMaskedLM", 14, 0, 1, 3},
        GoldenCase{"bert-classify", "BertForSequenceClassification", 14, 1, 2,
                   3},
        GoldenCase{"bert-tokens", "BertForTokenClassification", 13, 0, 1, 3},
        GoldenCase{"distilbert", "DistilBertModel", 12, 0, 1, 2},
        GoldenCase{"heads/bert-questions", "BertForQuestionAnswering", 14, 0, 2,
                   3},
        GoldenCase{"xlm-roberta-xl", "XLMRobertaXLModel", 13, 1, 2, 3},
        GoldenCase{"eurobert", "EuroBertForSequenceClassification", 16, 0, 1, 2,
                   0},
        GoldenCase{"gte", "GteForMaskedLM", 16, 0, 1, 3, 0},
        GoldenCase{"jina-v3", "JinaEmbeddingsV3ForMaskedLM", 14, 0, 1, 3, 0},
        GoldenCase{"gte-new", "NewModel", 14, 0, 1, 3, 0},
        GoldenCase{"heads/gte-new-mlm", "NewForMaskedLM", 16, 0, 1, 3, 0},
        GoldenCase{"heads/jina-v2-code", "JinaBertModel", 14, 0, 1, 3, 0},
        GoldenCase{"heads/jina-v2-classify",
                   "JinaBertForSequenceClassification", 16, 1, 2, 3, 0},
        GoldenCase{"heads/nomic-remote-mlm", "NomicBertForPreTraining", 9, 0, 1,
                   3, 0},
        GoldenCase{"heads/nomic-remote-plain", "NomicBertForPreTraining", 14, 0,
                   1, 2},
        GoldenCase{"heads/xlm-roberta-flash-classify",
                   "XLMRobertaForSequenceClassification", 14, 1, 1, 3, 0},
        GoldenCase{"jina-v2", "JinaBertModel", 15, 1, 2, 3, 0},
        GoldenCase{"nomic-remote", "NomicBertModel", 14, 0, 1, 3, 0},
        GoldenCase{"nomic", "NomicBertForSequenceClassification", 16, 1, 2, 3,
                   0},
        GoldenCase{"electra", "ElectraForMaskedLM", 15, 0, 1, 3},
        GoldenCase{"modernbert", "ModernBertForSequenceClassification", 30, 0,
                   1, 2, 0},
        GoldenCase{"mpnet", "MPNetForMaskedLM", 14, 0, 1, 2, 0},
        GoldenCase{"roberta", "RobertaModel", 13, 1, 2, 3}),
    [](const auto &info) {
      std::string name = info.param.folder;
      for (char &c : name)
        c = c == '-' || c == '/' ? '_' : c;
      return name;
    });

TEST(GoldenImport, places_are_the_modules_of_hugging_face) {
  Imported result(sourceFolder() + "/test/goldens/bert-mlm");
  ASSERT_TRUE(result.module) << result.error.message;
  std::set<std::string> locations;
  result.module->walk([&](mlir::Operation *op) {
    locations.insert(getModulePath(op->getLoc()));
  });
  for (const char *location :
       {"bert.embeddings.word_embeddings",
        "bert.encoder.layer.1.attention.self",
        "bert.encoder.layer.0.attention.self.query",
        "bert.encoder.layer.0.attention.output.LayerNorm",
        "bert.encoder.layer.1.output.dense", "cls.predictions.decoder"})
    EXPECT_TRUE(locations.count(location)) << location;
}

TEST(GoldenImport, results_of_tokens_are_masked_last) {
  // So that passes can leave padding out.
  for (const char *folder : {"bert", "bert-mlm", "electra-discriminator",
                             "heads/modernbert-questions"}) {
    Imported result(sourceFolder() + "/test/goldens/" + folder);
    ASSERT_TRUE(result.module) << result.error.message;
    auto entry = result.module->lookupSymbol<mlir::func::FuncOp>("encode");
    mlir::Value value = entry.getBody().front().getTerminator()->getOperand(0);
    EXPECT_TRUE(value.getDefiningOp<attn::MaskOp>()) << folder;
  }
}

TEST(GoldenImport, counts_parameters_and_types) {
  Imported result(sourceFolder() + "/test/goldens/distilbert");
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(result.info.dtypes.at("F32"), 36u);
  EXPECT_EQ(result.info.parameters,
            64u * (211 + 96 + 2) +
                2u * (4 * (64 * 64 + 64) + 4 * 64 + 2 * 160 * 64 + 160 + 64));
  EXPECT_TRUE(result.info.unusedTensors.empty());
  EXPECT_EQ(result.info.inputFiles,
            (std::vector<std::string>{"config.json", "model.safetensors"}));
}

} // namespace
