// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensor type table, and value type names.
#include "compiler/import/gguf/Gguf.h"
#include <gtest/gtest.h>

using namespace transom;

TEST(GgufValues, types_of_tensors) {
  for (uint32_t number = 0; number < 64; ++number)
    if (const gguf::TensorType *type = gguf::findTensorType(number)) {
      EXPECT_EQ(type->number, number);
      if (type->dtype) {
        EXPECT_EQ(type->blockBytes, dtypeBits(*type->dtype) / 8);
        EXPECT_EQ(type->blockElements, 1u);
        EXPECT_EQ(type->name, safetensorsName(*type->dtype));
      } else {
        EXPECT_GT(type->blockElements, 1u);
      }
    }
  // 4.5 bits: nibbles, and an f16 scale for each 32 of them.
  EXPECT_EQ(gguf::findTensorType(2)->blockBytes, 32 / 2 + 2u);
  // 32 bytes and an f16 scale.
  EXPECT_EQ(gguf::findTensorType(8)->blockBytes, 32 + 2u);
  EXPECT_STREQ(gguf::findTensorType(14)->name, "Q6_K");
  EXPECT_EQ(gguf::findTensorType(4), nullptr);
  EXPECT_EQ(gguf::findTensorType(UINT32_MAX), nullptr);
}

TEST(GgufValues, types_of_values_have_names) {
  EXPECT_EQ(gguf::describe(gguf::ValueType::Uint8), "uint8");
  EXPECT_EQ(gguf::describe(gguf::ValueType::String), "a string");
  EXPECT_EQ(gguf::describe(gguf::ValueType::Float64), "float64");
  EXPECT_EQ(gguf::describe(static_cast<gguf::ValueType>(13)),
            "of an unknown type");
}
