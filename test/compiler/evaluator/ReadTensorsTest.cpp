// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors in a golden file as evaluator values.
#include "compiler/evaluator/ReadTensors.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace transom;

static std::string getGolden(const std::string &file) {
  const char *folder = std::getenv("TRANSOM_SOURCE_DIR");
  EXPECT_TRUE(folder) << "TRANSOM_SOURCE_DIR is not set; run by ctest";
  return std::string(folder ? folder : ".") + "/test/goldens/bert/" + file;
}

TEST(ReadTensors, hasIntegersAndFloats) {
  auto inputs = readTensors(getGolden("encode.0.in.safetensors"));
  ASSERT_TRUE(inputs) << inputs.error().message;
  ASSERT_FALSE(inputs->empty());
  for (const NamedTensor &input : *inputs) {
    EXPECT_FALSE(input.tensor.isFloat) << input.name;
    EXPECT_EQ(input.tensor.count(), getNumElements(input.tensor.sizes));
  }
  auto outputs = readTensors(getGolden("encode.0.out.safetensors"));
  ASSERT_TRUE(outputs) << outputs.error().message;
  ASSERT_FALSE(outputs->empty());
  EXPECT_TRUE(outputs->front().tensor.isFloat);
  // Hidden states are after a norm: neither zero nor large.
  double largest = 0;
  for (Number x : outputs->front().tensor.real)
    largest = std::max(largest, std::fabs(x.real()));
  EXPECT_GT(largest, 0.1);
  EXPECT_LT(largest, 100);
}

TEST(ReadTensors, refusesWhatIsNotThere) {
  auto tensors = readTensors(getGolden("missing.safetensors"));
  ASSERT_FALSE(tensors);
  EXPECT_NE(tensors.error().message.find("missing.safetensors"),
            std::string::npos);
}
