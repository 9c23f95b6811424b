// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of weights as whole numbers with a scale.
#include "runtime/weights/Quantization.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace transom;

namespace {

/// The squared error of whole numbers with a scale.
double getError(const std::vector<float> &numbers,
                const std::vector<int8_t> &whole, float scale) {
  double error = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double difference = numbers[i] - double(whole[i]) * scale;
    error += difference * difference;
  }
  return error;
}

TEST(Quantization, errors_are_no_larger_than_with_the_scale_of_the_largest) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  double better = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<float> numbers(128);
    for (float &number : numbers)
      number = normal(random);
    std::vector<int8_t> whole(numbers.size()), plain(numbers.size());
    const float scale =
        quantizeGroup(numbers.data(), 128, StorageType::I8, whole.data());
    float largest = 0;
    for (float number : numbers)
      largest = std::max(largest, std::fabs(number));
    for (size_t i = 0; i < numbers.size(); ++i)
      plain[i] = static_cast<int8_t>(
          std::nearbyint(numbers[i] / (double(largest) / 127)));
    const double own = getError(numbers, whole, scale),
                 other = getError(numbers, plain, largest / 127);
    EXPECT_LE(own, other * (1 + 1e-6));
    better += own < other * 0.999;
    for (int8_t number : whole)
      EXPECT_NE(number, -128);
  }
  EXPECT_GT(better, 50);
}

TEST(Quantization, numbers_of_a_grid_are_exact) {
  std::vector<float> numbers;
  for (int i = -127; i <= 0; ++i)
    numbers.push_back(static_cast<float>(i) * 0.25f);
  std::vector<int8_t> whole(numbers.size());
  EXPECT_EQ(quantizeGroup(numbers.data(), 128, StorageType::I8, whole.data()),
            0.25f);
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(whole[i], i - 127);
}

TEST(Quantization, groups_without_a_scale_are_zero) {
  std::vector<int8_t> whole(3, 1);
  const std::vector<int8_t> zeros(3);
  const float tiny[] = {0, std::numeric_limits<float>::denorm_min(), -0.0f};
  EXPECT_EQ(quantizeGroup(tiny, 3, StorageType::I8, whole.data()), 0);
  EXPECT_EQ(whole, zeros);
  const float broken[] = {1, std::numeric_limits<float>::infinity(), 2};
  EXPECT_TRUE(
      std::isnan(quantizeGroup(broken, 3, StorageType::I8, whole.data())));
  EXPECT_EQ(whole, zeros);
}

} // namespace
