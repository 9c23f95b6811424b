// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rope in configs: both spellings, scaling, partial heads, bases by layer.
#include "compiler/import/huggingface/Rope.h"
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

TEST(Rope, both_spellings_of_rope) {
  const std::string scaling =
      R"("rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
         "high_freq_factor": 4, "original_max_position_embeddings": 32)";
  FromConfig now(config("llama", "\"rope_parameters\": {\"rope_theta\": 500, " +
                                     scaling + "}"));
  FromConfig old(config("llama", "\"rope_theta\": 500, \"rope_scaling\": {" +
                                     scaling + "}"));
  ASSERT_TRUE(now.module && old.module) << now.error.message;
  EXPECT_EQ(now.info.notes, std::vector<std::string>{});
  EXPECT_EQ(now.ropeTable()->getFrequencies(),
            old.ropeTable()->getFrequencies());
  EXPECT_EQ(now.context(), 64);
  // The first wave is short and stays, the second is long: 2 pi sqrt(500).
  EXPECT_EQ(now.ropeTable()->getFrequencies()[0], 1);
  EXPECT_DOUBLE_EQ(now.ropeTable()->getFrequencies()[1],
                   1 / std::sqrt(500.0) / 8);
}

TEST(Rope, scaling_lengthens_the_context) {
  EXPECT_EQ(FromConfig(config("llama", R"("rope_scaling": {"type": "linear",
                                           "factor": 2.5})"))
                .context(),
            160);
  FromConfig yarn(config("llama", R"("rope_scaling": {"rope_type": "yarn",
      "factor": 4, "original_max_position_embeddings": 32})"));
  ASSERT_TRUE(yarn.module) << yarn.error.message;
  EXPECT_EQ(yarn.context(), 128);
  EXPECT_DOUBLE_EQ(yarn.ropeTable()->getFactor().convertToDouble(),
                   0.1 * std::log(4.0) + 1);
  EXPECT_EQ(yarn.ropeTable()->getLimit(), 128u);
}

TEST(Rope, a_larger_base) {
  auto read = [](const char *scaling) {
    return FromConfig(config("new", std::string("\"rope_theta\": 400, "
                                                "\"rope_scaling\": {") +
                                        scaling + "}"));
  };
  // Two pairs in a head of width 4: base 1600, and both once more by 4^(-2/4).
  FromConfig fixed = read(R"("type": "ntk", "factor": 4)");
  ASSERT_TRUE(fixed.module) << fixed.error.message;
  EXPECT_EQ(fixed.info.notes, std::vector<std::string>{});
  EXPECT_DOUBLE_EQ(fixed.ropeTable()->getFrequencies()[0], 0.5);
  EXPECT_DOUBLE_EQ(fixed.ropeTable()->getFrequencies()[1], 1.0 / 40 / 2);
  EXPECT_EQ(fixed.ropeTable()->getLimit(), 256u);
  // The last pair by the whole factor.
  FromConfig mixed = read(R"("type": "ntk", "factor": 4, "mixed_b": 1)");
  EXPECT_DOUBLE_EQ(mixed.ropeTable()->getFrequencies()[0], 0.5);
  EXPECT_DOUBLE_EQ(mixed.ropeTable()->getFrequencies()[1], 1.0 / 20 / 4);
  FromConfig none = read(R"("type": "ntk", "factor": 1)");
  EXPECT_EQ(none.ropeTable()->getFrequencies()[0], 1);
  EXPECT_EQ(none.ropeTable()->getLimit(), 64u);
}

TEST(Rope, rotated_shares_of_any_size) {
  auto share = [](const char *value) {
    return config("gpt_neox",
                  std::string("\"hidden_size\": 24, "
                              "\"rotary_pct\": ") +
                      value,
                  R"("vocab_size": 11, "num_hidden_layers": 1,
       "num_attention_heads": 2, "intermediate_size": 12)");
  };
  // An odd share (3) of 12: 4 elements are rotated; the wave exponents divide
  // by 3.
  FromConfig odd(share("0.3"));
  ASSERT_TRUE(odd.module) << odd.error.message;
  llvm::ArrayRef<double> waves = odd.ropeTable()->getFrequencies();
  ASSERT_EQ(waves.size(), 2u);
  EXPECT_DOUBLE_EQ(waves[1], std::pow(10000.0, -2.0 / 3));
  FromConfig none(share("0.05"));
  ASSERT_TRUE(none.module) << none.error.message;
  EXPECT_FALSE(none.ropeTable());
  EXPECT_EQ(none.context(), 2048);
}

TEST(Rope, dynamic_scaling_ends_at_the_trained_length) {
  FromConfig plain(config("llama"));
  FromConfig dynamic(
      config("llama", R"("rope_scaling": {"type": "dynamic", "factor": 2})"));
  ASSERT_TRUE(dynamic.module) << dynamic.error.message;
  EXPECT_EQ(dynamic.context(), 64);
  EXPECT_EQ(dynamic.ropeTable()->getFrequencies(),
            plain.ropeTable()->getFrequencies());
}

TEST(Rope, rope_that_is_not_supported) {
  auto with = [](const std::string &scaling) {
    return config("llama", "\"rope_scaling\": {" + scaling + "}");
  };
  expectConfigError(with(R"("type": "longrope", "short_factor": [1])"),
                    Status::Unsupported,
                    {"'/rope_scaling/type'", "'longrope'", "how much text"});
  expectConfigError(with(R"("rope_type": "spiral")"), Status::Unsupported,
                    {"'spiral'", "default, linear, dynamic, llama3, yarn"});
  expectConfigError(with(R"("full_attention": {"rope_type": "default"})"),
                    Status::Unsupported, {"differs by layer"});
  expectConfigError(with(R"("partial_rotary_factor": 0.5)"),
                    Status::Unsupported, {"share", "model_type 'llama'"});
  expectConfigError(config("phi3", "\"rope_scaling\": {\"type\": \"yarn\"}"),
                    Status::Unsupported, {"'yarn'", "supported: default"});
  expectConfigError(config("llama", R"("use_mrope": true)"),
                    Status::Unsupported, {"'use_mrope'"});
  expectConfigError(config("llama", R"("rope_scaling": {"type": "linear",
                           "factor": 1e9})"),
                    Status::Unsupported, {"16777216"});
}

TEST(Rope, rope_that_is_wrong) {
  auto with = [](const std::string &scaling) {
    return config("llama", "\"rope_scaling\": " + scaling);
  };
  expectConfigError(with("[1]"), Status::Rejected, {"'/rope_scaling'"});
  expectConfigError(with(R"({"type": 3})"), Status::Rejected,
                    {"'/rope_scaling/type'"});
  expectConfigError(with(R"({"type": "linear"})"), Status::Rejected,
                    {"missing key 'factor'"});
  expectConfigError(with(R"({"type": "linear", "factor": 0})"),
                    Status::Rejected, {"'factor' must be above 0"});
  expectConfigError(with(R"({"type": "llama3", "factor": 8, "low_freq_factor":
                           4, "high_freq_factor": 1})"),
                    Status::Rejected, {"'high_freq_factor'"});
  expectConfigError(config("llama", "\"rope_theta\": 0"), Status::Rejected,
                    {"'rope_theta'"});
  FromConfig unknown(with(R"({"type": "default", "spin": 1})"));
  ASSERT_TRUE(unknown.module) << unknown.error.message;
  EXPECT_EQ(unknown.info.notes,
            (std::vector<std::string>{"config.json: key 'rope_scaling/spin' is "
                                      "not known and was ignored"}));
}

TEST(Rope, bases_by_layer_type) {
  auto bases = [](const std::string &more) {
    FromConfig result(config("modernbert", more));
    std::vector<double> second;
    if (result.module)
      result.module->walk([&](attn::RopeTableOp op) {
        second.push_back(op.getFrequencies()[1]);
      });
    return second;
  };
  // Heads of width 4: the second frequency is the root of 1 / theta.
  std::vector<double> found = bases("");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_DOUBLE_EQ(found[0], 1 / 400.0);
  EXPECT_DOUBLE_EQ(found[1], 1 / 100.0);
  found = bases("\"global_rope_theta\": 100, \"local_rope_theta\": 25");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_DOUBLE_EQ(found[0], 1 / 10.0);
  EXPECT_DOUBLE_EQ(found[1], 1 / 5.0);
  found = bases(R"("rope_parameters": {"full_attention": {"rope_theta": 16},
                                        "sliding_attention": {}})");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_DOUBLE_EQ(found[0], 1 / 4.0);
  EXPECT_DOUBLE_EQ(found[1], 1 / 100.0);
  expectConfigError(config("modernbert", R"("rope_parameters": {"full": {}})"),
                    Status::Unsupported,
                    {"'/rope_parameters/full'", "sliding_attention"});
}

} // namespace
