// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strides, spans, conversions and value checks.
#include "runtime/execute/Tensor.h"
#include <gtest/gtest.h>

using namespace transom;

static transom_tensor strided(std::vector<int64_t> strides, void *data,
                              transom_dtype dtype) {
  transom_tensor tensor{};
  tensor.dtype = dtype;
  tensor.data = data;
  std::copy(strides.begin(), strides.end(), tensor.strides);
  return tensor;
}

TEST(Tensor, gathers_strided_integers) {
  int32_t data[] = {0, 1, 2, 3, 4, 5, 6, 7};
  int64_t shape[] = {2, 3}, out[6];
  stageInput(strided({1, 2}, data, TRANSOM_DTYPE_I32), shape, 2, out);
  EXPECT_EQ(std::vector<int64_t>(out, out + 6),
            (std::vector<int64_t>{0, 2, 4, 1, 3, 5}));
  stageInput(strided({0, 1}, data, TRANSOM_DTYPE_I32), shape, 2, out);
  EXPECT_EQ(std::vector<int64_t>(out, out + 6),
            (std::vector<int64_t>{0, 1, 2, 0, 1, 2}));
}

TEST(Tensor, gathers_and_scatters_three_dimensions) {
  float data[24], back[24] = {}, dense[24];
  for (int i = 0; i != 24; ++i)
    data[i] = float(i);
  int64_t shape[] = {2, 3, 4};
  transom_tensor tensor = strided({4, 8, 1}, data, TRANSOM_DTYPE_F32);
  stageInput(tensor, shape, 3, dense);
  EXPECT_EQ(dense[4], 8.0f);  // [0, 1, 0]
  EXPECT_EQ(dense[12], 4.0f); // [1, 0, 0]
  EXPECT_EQ(dense[23], 23.0f);
  tensor.data = back;
  unstageResult(dense, tensor, shape, 3, sizeof(float));
  EXPECT_TRUE(std::equal(data, data + 24, back));
}

TEST(Tensor, knows_rank_0) {
  float value = 3, out = 0;
  stageInput(strided({}, &value, TRANSOM_DTYPE_F32), nullptr, 0, &out);
  EXPECT_EQ(out, 3.0f);
  uint64_t bytes;
  EXPECT_TRUE(
      getSpan(strided({}, &value, TRANSOM_DTYPE_F32), nullptr, 0, 4, bytes));
  EXPECT_EQ(bytes, 4u);
}

TEST(Tensor, spans_count_the_last_element) {
  int64_t shape[] = {2, 3};
  uint64_t bytes;
  ASSERT_TRUE(
      getSpan(strided({}, nullptr, TRANSOM_DTYPE_F32), shape, 2, 4, bytes));
  EXPECT_EQ(bytes, 24u);
  ASSERT_TRUE(getSpan(strided({10, 2}, nullptr, TRANSOM_DTYPE_F32), shape, 2, 4,
                      bytes));
  EXPECT_EQ(bytes, 60u);
  EXPECT_FALSE(getSpan(strided({-1, 1}, nullptr, TRANSOM_DTYPE_F32), shape, 2,
                       4, bytes));
  EXPECT_FALSE(getSpan(strided({INT64_MAX, 2}, nullptr, TRANSOM_DTYPE_F32),
                       shape, 2, 4, bytes));
  int64_t large[] = {INT64_MAX, 3};
  EXPECT_FALSE(
      getSpan(strided({}, nullptr, TRANSOM_DTYPE_F32), large, 2, 4, bytes));
}

TEST(Tensor, tells_dense_and_overlapping_strides) {
  int64_t shape[] = {2, 3}, thin[] = {1, 3};
  EXPECT_TRUE(isDense(strided({3, 1}, nullptr, TRANSOM_DTYPE_F32), shape, 2));
  EXPECT_FALSE(isDense(strided({4, 1}, nullptr, TRANSOM_DTYPE_F32), shape, 2));
  EXPECT_TRUE(isDense(strided({99, 1}, nullptr, TRANSOM_DTYPE_F32), thin, 2));
  EXPECT_TRUE(
      overlapsItself(strided({0, 1}, nullptr, TRANSOM_DTYPE_F32), shape, 2));
  EXPECT_TRUE(
      overlapsItself(strided({2, 1}, nullptr, TRANSOM_DTYPE_F32), shape, 2));
  EXPECT_FALSE(
      overlapsItself(strided({1, 2}, nullptr, TRANSOM_DTYPE_F32), shape, 2));
  EXPECT_FALSE(
      overlapsItself(strided({0, 1}, nullptr, TRANSOM_DTYPE_F32), thin, 2));
}

TEST(Tensor, converts_halves) {
  uint16_t half[] = {0x3c00, 0xc000}, brain[] = {0x3f80, 0xc000};
  int64_t shape[] = {2};
  float out[2];
  stageInput(strided({}, half, TRANSOM_DTYPE_F16), shape, 1, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], -2.0f);
  stageInput(strided({}, brain, TRANSOM_DTYPE_BF16), shape, 1, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], -2.0f);
}

TEST(Tensor, names_the_first_wrong_value) {
  Argument ids;
  ids.name = "input_ids";
  ids.dtype = TRANSOM_DTYPE_I64;
  ids.role = Role::Ids;
  ids.bound = 10;
  std::vector<int64_t> values(1000, 9);
  int64_t shape[] = {10, 100};
  EXPECT_TRUE(bool(checkValues(ids, values.data(), shape, 2)));
  values[345] = 10;
  values[500] = -1;
  Result<void> wrong = checkValues(ids, values.data(), shape, 2);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "input 'input_ids' at [3, 45]: id 10 is not in [0, 10)");
  values[345] = 0;
  wrong = checkValues(ids, values.data(), shape, 2);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "input 'input_ids' at [5, 0]: id -1 is not in [0, 10)");
  ids.role = Role::Mask;
  ids.name = "attention_mask";
  wrong = checkValues(ids, values.data(), shape, 2);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "input 'attention_mask' at [0, 0]: 9 is neither 0 nor 1");
}
