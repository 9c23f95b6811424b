// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers in module paths. test/tools/commands/test_inspect_model.py compares
// model components with Transformers.
#include "compiler/statistics/ModelComponents.h"
#include <gtest/gtest.h>
#include <set>

using namespace transom;

namespace {

TEST(ModelComponents, theFirstNumberIsTheLayer) {
  const LayerId layer = getLayerId("decoder.block.12.layer.0.DenseReluDense");
  EXPECT_EQ(layer.stack, "decoder.block");
  EXPECT_EQ(layer.index, 12);
  EXPECT_EQ(getLayerId("h.3").stack, "h");
}

TEST(ModelComponents, pathsWithoutANumberHaveNoLayer) {
  for (const char *path :
       {"", "embeddings", "pooler.dense", "conv1.weight", "layer1.dense", "0"})
    EXPECT_FALSE(getLayerId(path).isLayer()) << path;
}

TEST(ModelComponents, haveDistinctNames) {
  std::set<std::string> names;
  for (size_t i = 0; i < numComponents; ++i)
    names.insert(getComponentName(static_cast<Component>(i)));
  EXPECT_EQ(names.size(), numComponents);
}

} // namespace
