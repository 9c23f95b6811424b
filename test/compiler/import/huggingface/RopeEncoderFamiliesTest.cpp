// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What configs of encoders with rope make of their entries of the table.
#include "dialects/common/Location.h"
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

constexpr const char *families[] = {"eurobert", "gte", "jina_embeddings_v3",
                                    "nomic_bert"};

TEST(RopeEncoderFamilies, tokens_see_each_other) {
  for (const char *family : families) {
    FromConfig model(config(family));
    ASSERT_TRUE(model.module) << model.error.message;
    ASSERT_EQ(model.attentions().size(), 3u) << family;
    EXPECT_FALSE(model.attentions()[0].getCausal()) << family;
    EXPECT_TRUE(model.module->lookupSymbol("encode")) << family;
  }
}

TEST(RopeEncoderFamilies, bases_of_rope) {
  // Two pairs of a head of 4: 1 and base^(-1/2).
  const double bases[] = {10000, 160000, 20000, 1000};
  for (size_t i = 0; i < 4; ++i) {
    FromConfig model(config(families[i]));
    EXPECT_EQ(model.ropeTable()->getFrequencies()[1], std::pow(bases[i], -0.5))
        << families[i];
    FromConfig given(config(families[i], R"("rope_parameters":
        {"rope_theta": 400, "rope_type": "default"})"));
    EXPECT_EQ(given.ropeTable()->getFrequencies()[1], std::pow(400, -0.5));
  }
}

TEST(RopeEncoderFamilies, sizes_of_heads) {
  for (const char *family : families) {
    FromConfig model(config(family, "\"head_dim\": 6"));
    ASSERT_TRUE(model.module) << model.error.message;
    auto query = mlir::cast<mlir::RankedTensorType>(
        model.attentions()[0].getQuery().getType());
    EXPECT_EQ(query.getShape().back(), 12) << family;
  }
}

TEST(RopeEncoderFamilies, token_types_are_optional) {
  auto countArguments = [](const std::string &text) {
    FromConfig model(text);
    return model.module->lookupSymbol<mlir::func::FuncOp>("encode")
        .getNumArguments();
  };
  EXPECT_EQ(countArguments(config("gte", "\"type_vocab_size\": 0")), 2u);
  EXPECT_EQ(countArguments(config("gte", "\"type_vocab_size\": 2")), 3u);
  expectConfigError(config("nomic_bert", "\"type_vocab_size\": 0"),
                    Status::Rejected, {"'/type_vocab_size'"});
}

TEST(RopeEncoderFamilies, which_states_a_classifier_reads) {
  auto getPools = [](const std::string &pooling) {
    FromConfig model(
        config("eurobert",
               "\"architectures\": [\"EuroBertForSequenceClassification\"]" +
                   pooling));
    std::vector<std::string> order;
    model.module->walk([&](mlir::Operation *op) {
      if (auto pool = mlir::dyn_cast<attn::PoolOp>(op))
        order.push_back(pool.getKind() == attn::PoolKind::Mean ? "mean"
                                                               : "first");
      if (mlir::isa<attn::LinearOp>(op))
        order.push_back(getModulePath(op->getLoc()));
    });
    return std::vector<std::string>(order.end() - 3, order.end());
  };
  using Order = std::vector<std::string>;
  EXPECT_EQ(getPools(""), (Order{"dense", "classifier", "mean"}));
  EXPECT_EQ(getPools(", \"clf_pooling\": \"late\""),
            (Order{"dense", "classifier", "mean"}));
  EXPECT_EQ(getPools(", \"classifier_pooling\": \"bos\""),
            (Order{"first", "dense", "classifier"}));
  EXPECT_EQ(getPools(", \"classifier_pooling\": \"mean\""),
            (Order{"mean", "dense", "classifier"}));
  expectConfigError(config("eurobert", "\"classifier_pooling\": \"cls\""),
                    Status::Unsupported,
                    {"'/classifier_pooling'", "'cls'", "late, bos, mean"});
}

} // namespace
