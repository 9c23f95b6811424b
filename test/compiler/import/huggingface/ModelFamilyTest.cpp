// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each table entry names the requirements of its features, so that this test
// finds an omission before a checkpoint does.
#include "compiler/import/huggingface/ModelFamily.h"
#include <gtest/gtest.h>
#include <set>

using namespace transom;

namespace {

/// Adds an entry, or its halves if it has some, and its variants.
void addEntries(const ModelFamily &family, std::vector<ModelFamily> &entries) {
  if (family.halves.empty())
    entries.push_back(family);
  entries.insert(entries.end(), family.halves.begin(), family.halves.end());
  for (const FamilyVariant &variant : family.variants)
    addEntries(variant.family.front(), entries);
}

/// The entries that blocks build.
std::vector<ModelFamily> getBuiltEntries() {
  std::vector<ModelFamily> entries;
  for (const ModelFamily &family : modelFamilies())
    addEntries(family, entries);
  return entries;
}

class Families : public ::testing::TestWithParam<ModelFamily> {};

TEST_P(Families, name_the_modules_of_their_features) {
  const ModelFamily &family = GetParam();
  const FamilyModules &m = family.modules;
  auto isNamed = [](const char *module) { return *module != '\0'; };
  EXPECT_TRUE(isNamed(m.word));
  EXPECT_NE(std::string(m.layer).find("{i}"), std::string::npos);
  EXPECT_TRUE(isNamed(m.attention) && isNamed(m.output));
  EXPECT_TRUE(isNamed(m.up) && isNamed(m.down) && isNamed(m.activation));
  EXPECT_TRUE(isNamed(m.attentionNorm) || isNamed(m.attentionPostNorm));
  EXPECT_TRUE(isNamed(m.mlpNorm) || isNamed(m.mlpPostNorm) ||
              family.defaults.parallelNorms == 1);

  bool separate = family.qkv == QkvLayout::Separate;
  EXPECT_EQ(isNamed(m.query) && isNamed(m.key) && isNamed(m.value), separate);
  EXPECT_EQ(isNamed(m.qkv), !separate);
  EXPECT_EQ(isNamed(m.gate), family.mlp == MlpKind::Glu);
  EXPECT_EQ(isNamed(m.position),
            family.positions == PositionEncoding::Learned ||
                family.positions == PositionEncoding::Sinusoid);
  EXPECT_EQ(isNamed(m.rope), family.positions == PositionEncoding::Rope);
  EXPECT_EQ(isNamed(m.queryNorm) && isNamed(m.keyNorm),
            family.headNorms != HeadNorms::None);
}

TEST_P(Families, name_the_keys_of_their_features) {
  const ModelFamily &family = GetParam();
  const FamilyKeys &keys = family.keys;
  for (const ConfigKey *key : {&keys.hidden, &keys.layers, &keys.heads})
    EXPECT_FALSE(key->empty());
  EXPECT_EQ(family.ropeByLayerType, !keys.localTheta.empty());
  EXPECT_EQ(keys.ropePeriod.empty(), keys.ropeLayers.empty());
  if (family.windows != WindowLayers::None)
    EXPECT_FALSE(keys.window.empty());
  if (family.windows == WindowLayers::NotEveryNth ||
      family.windows == WindowLayers::NotLastOfN)
    EXPECT_FALSE(keys.windowPeriod.empty());
  if (*family.modules.relativeBias)
    EXPECT_FALSE(keys.biasBuckets.empty());
  if (*family.modules.type)
    EXPECT_FALSE(keys.types.empty());
}

TEST_P(Families, do_not_ignore_keys_that_they_restrict) {
  const ModelFamily &family = GetParam();
  for (const SupportedValue &supported : family.supportedValues)
    for (const char *ignored : family.ignoredKeys)
      EXPECT_STRNE(supported.key, ignored);
}

TEST_P(Families, name_the_modules_that_attend_to_an_encoder) {
  const ModelFamily &family = GetParam();
  const FamilyModules &m = family.modules;
  const ModelFamily &outer = *findModelFamily(family.modelType);
  bool crosses = outer.kind == ModelKind::EncoderDecoder &&
                 family.kind == ModelKind::Decoder;
  for (const char *module : {m.crossAttention, m.crossQuery, m.crossKey,
                             m.crossValue, m.crossOutput, m.crossNorm})
    EXPECT_EQ(*module != '\0', crosses);
}

TEST(ModelFamilies, have_an_encoder_and_a_decoder_or_no_halves) {
  for (const ModelFamily &family : modelFamilies()) {
    if (family.kind != ModelKind::EncoderDecoder) {
      EXPECT_TRUE(family.halves.empty()) << family.modelType;
      continue;
    }
    ASSERT_EQ(family.halves.size(), 2u) << family.modelType;
    EXPECT_EQ(family.halves[0].kind, ModelKind::Encoder);
    EXPECT_EQ(family.halves[1].kind, ModelKind::Decoder);
    for (const ModelFamily &half : family.halves)
      EXPECT_STREQ(half.modelType, family.modelType);
  }
}

INSTANTIATE_TEST_SUITE_P(all, Families, ::testing::ValuesIn(getBuiltEntries()),
                         [](const auto &info) {
                           std::string name = info.param.modelType;
                           name += info.param.kind == ModelKind::Encoder
                                       ? "_encoder"
                                       : "_decoder";
                           for (char &c : name)
                             c = c == '-' ? '_' : c;
                           return name + "_" + std::to_string(info.index);
                         });

TEST(ModelFamilies, have_variants_of_their_own_type) {
  for (const ModelFamily &family : modelFamilies())
    for (const FamilyVariant &variant : family.variants) {
      ASSERT_EQ(variant.family.size(), 1u) << family.modelType;
      EXPECT_FALSE(variant.key.empty()) << family.modelType;
      EXPECT_NE(std::string(variant.value), "") << family.modelType;
      EXPECT_STREQ(variant.family[0].modelType, family.modelType);
    }
}

TEST(ModelFamilies, are_found_by_their_model_type) {
  std::set<std::string> names;
  for (const ModelFamily &family : modelFamilies()) {
    EXPECT_TRUE(names.insert(family.modelType).second) << family.modelType;
    EXPECT_EQ(findModelFamily(family.modelType), &family);
    EXPECT_FALSE(family.heads.empty()) << family.modelType;
  }
  EXPECT_EQ(findModelFamily("no such family"), nullptr);
}

} // namespace
