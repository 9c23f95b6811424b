// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types: names, sizes and conversions.
#include "runtime/base/DType.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace transom;

TEST(DType, names_round_trip) {
  for (int i = 0; i < dtypeCount; ++i) {
    DType type = static_cast<DType>(i);
    EXPECT_EQ(dtypeFromName(dtypeName(type)), type);
    EXPECT_EQ(dtypeFromSafetensors(safetensorsName(type)), type);
    EXPECT_GT(dtypeBits(type), 0u);
  }
  EXPECT_FALSE(dtypeFromSafetensors("f32"));
  EXPECT_FALSE(dtypeFromName("F32"));
  EXPECT_EQ(safetensorsName(DType::Bool), "BOOL");
  EXPECT_EQ(dtypeName(DType::BF16), "bf16");
}

TEST(DType, sizes_are_checked) {
  EXPECT_EQ(dtypeBytes(DType::F64, 3), 24u);
  EXPECT_EQ(dtypeBytes(DType::F4, 4), 2u);
  EXPECT_FALSE(dtypeBytes(DType::F4, 3));
  EXPECT_EQ(dtypeBytes(DType::F6E2M3, 4), 3u);
  EXPECT_FALSE(dtypeBytes(DType::F32, UINT64_MAX / 2));
  EXPECT_EQ(tensorBytes(DType::F16, {2, 3}), 12u);
  EXPECT_EQ(tensorBytes(DType::F16, {}), 2u);
  EXPECT_EQ(tensorBytes(DType::F16, {0, INT64_MAX, INT64_MAX}), 0u);
  EXPECT_FALSE(tensorBytes(DType::I8, {INT64_MAX, 2}));
  EXPECT_FALSE(elementCount({2, -1}));
  EXPECT_FALSE(elementCount({0, -1}));
  EXPECT_EQ(shapeText({2, 3}), "[2, 3]");
  EXPECT_EQ(shapeText({}), "[]");
}

TEST(DType, all_halves_convert_both_ways) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    float value = halfToFloat(static_cast<uint16_t>(h));
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double expected = exponent == 0
                          ? std::ldexp(mantissa, -24)
                          : std::ldexp(1024 + mantissa, exponent - 25);
    if (h & 0x8000)
      expected = -expected;
    if (exponent == 31 && mantissa != 0) {
      ASSERT_TRUE(std::isnan(value)) << h;
      ASSERT_TRUE(std::isnan(halfToFloat(floatToHalf(value))));
      continue;
    }
    if (exponent == 31)
      expected = h & 0x8000 ? -INFINITY : INFINITY;
    ASSERT_EQ(value, expected) << h;
    ASSERT_EQ(std::signbit(value), (h & 0x8000) != 0);
    ASSERT_EQ(floatToHalf(value), h);
  }
}

TEST(DType, rounding_is_to_nearest_even) {
  EXPECT_EQ(floatToHalf(65519.99f), 0x7BFF);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7C00);
  EXPECT_EQ(floatToHalf(1.0f + 0x1p-11f), 0x3C00) << "a tie goes to even";
  EXPECT_EQ(floatToHalf(1.0f + 3 * 0x1p-11f), 0x3C02);
  EXPECT_EQ(floatToHalf(1.0f + 0x1.1p-11f), 0x3C01);
  EXPECT_EQ(floatToHalf(0x1p-25f), 0);
  EXPECT_EQ(floatToHalf(0x1.1p-25f), 1);
  EXPECT_EQ(floatToHalf(-0x1.8p-24f), 0x8002);
  EXPECT_EQ(floatToBfloat16(1.0f + 0x1p-8f), 0x3F80);
  EXPECT_EQ(floatToBfloat16(1.0f + 3 * 0x1p-8f), 0x3F82);
  EXPECT_EQ(floatToBfloat16(3.4e38f), 0x7F80);
  EXPECT_TRUE(std::isnan(bfloat16ToFloat(floatToBfloat16(NAN))));
}

TEST(DType, conversions_read_unaligned_data) {
  char bytes[40] = {};
  float out[2];
  int64_t integers[2];
  double d = -2.5;
  std::memcpy(bytes + 1, &d, 8);
  ASSERT_TRUE(convertToF32(DType::F64, bytes + 1, 1, out));
  EXPECT_EQ(out[0], -2.5f);
  int32_t i[2] = {-7, 8};
  std::memcpy(bytes + 3, i, 8);
  ASSERT_TRUE(convertToF32(DType::I32, bytes + 3, 2, out));
  EXPECT_EQ(out[0], -7);
  ASSERT_TRUE(convertToI64(DType::I32, bytes + 3, 2, integers));
  EXPECT_EQ(integers[1], 8);
  bytes[0] = 5;
  ASSERT_TRUE(convertToI64(DType::Bool, bytes, 1, integers));
  EXPECT_EQ(integers[0], 1);
  bytes[0] = static_cast<char>(0xFF);
  ASSERT_TRUE(convertToI64(DType::U8, bytes, 1, integers));
  EXPECT_EQ(integers[0], 255);
  ASSERT_TRUE(convertToI64(DType::I8, bytes, 1, integers));
  EXPECT_EQ(integers[0], -1);
  EXPECT_FALSE(convertToI64(DType::F32, bytes, 1, integers));
  EXPECT_FALSE(convertToF32(DType::C64, bytes, 1, out));
  EXPECT_TRUE(convertToF32(DType::F32, nullptr, 0, nullptr));
}
