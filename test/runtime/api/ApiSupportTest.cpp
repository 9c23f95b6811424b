// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Option structs from newer callers.
#include "runtime/api/ApiSupport.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

template <typename T> bool isDefault(T value) {
  return api::areDefaults(reinterpret_cast<const char *>(&value), sizeof value);
}

TEST(ApiSupport, zeros_and_from_model_are_defaults_of_any_type) {
  EXPECT_TRUE(isDefault<int32_t>(0));
  EXPECT_TRUE(isDefault<int32_t>(TRANSOM_FROM_MODEL));
  EXPECT_TRUE(isDefault<int64_t>(0));
  EXPECT_TRUE(isDefault<int64_t>(TRANSOM_FROM_MODEL));
  EXPECT_TRUE(isDefault<double>(0));
  EXPECT_TRUE(isDefault<double>(TRANSOM_FROM_MODEL));
  EXPECT_TRUE(isDefault<const void *>(nullptr));
  struct Tail {
    int64_t whole = TRANSOM_FROM_MODEL;
    int32_t first = TRANSOM_FROM_MODEL, second = 0;
    double real = TRANSOM_FROM_MODEL;
  };
  EXPECT_TRUE(isDefault(Tail()));
}

TEST(ApiSupport, other_values_are_not_defaults) {
  EXPECT_FALSE(isDefault<int32_t>(1));
  EXPECT_FALSE(isDefault<int32_t>(TRANSOM_FROM_MODEL + 1));
  EXPECT_FALSE(isDefault<int64_t>(-1));
  EXPECT_FALSE(isDefault<double>(0.5));
  EXPECT_FALSE(isDefault<char>(1));
  int64_t values[2] = {TRANSOM_FROM_MODEL, 3};
  EXPECT_FALSE(isDefault(values));
}

} // namespace
