// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weight groups as integers with a scale.
#include "dialects/weights/Quantization.h"
#include "test/runtime/base/TestSupport.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace transom;

namespace {

const OperandFormat int8Groups =
    OperandFormat::getQuantized(StorageType::I8, 128);

/// The squared error of integers with a scale.
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
        quantizeGroup(numbers.data(), 128, int8Groups, whole.data()).scale;
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
  EXPECT_EQ(quantizeGroup(numbers.data(), 128, int8Groups, whole.data()).scale,
            0.25f);
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(whole[i], i - 127);
}

TEST(Quantization, groups_without_a_scale_are_zero) {
  std::vector<int8_t> whole(3, 1);
  const std::vector<int8_t> zeros(3);
  const float tiny[] = {0, std::numeric_limits<float>::denorm_min(), -0.0f};
  EXPECT_EQ(quantizeGroup(tiny, 3, int8Groups, whole.data()).scale, 0);
  EXPECT_EQ(whole, zeros);
  const float broken[] = {1, std::numeric_limits<float>::infinity(), 2};
  EXPECT_TRUE(
      std::isnan(quantizeGroup(broken, 3, int8Groups, whole.data()).scale));
  EXPECT_EQ(whole, zeros);
}

/// The quantization RMS error for groups with normal values, relative to their
/// own RMS.
double getRelativeError(const OperandFormat &format) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  double error = 0, squares = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<float> numbers(format.group);
    for (float &number : numbers)
      number = normal(random);
    std::vector<int8_t> whole(numbers.size());
    const GroupScale group =
        quantizeGroup(numbers.data(), format.group, format, whole.data());
    EXPECT_EQ(group.scale, roundToStorage(*format.scales, group.scale));
    EXPECT_EQ(group.minimum, roundToStorage(StorageType::F16, group.minimum));
    for (size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_GE(whole[i], getLowest(format.element));
      EXPECT_LE(whole[i], getMaxMagnitude(format.element));
      const double difference =
          numbers[i] - (double(whole[i]) * group.scale + group.minimum);
      error += difference * difference;
      squares += double(numbers[i]) * numbers[i];
    }
  }
  return std::sqrt(error / squares);
}

/// A scale that maps the largest magnitude to the range's end gives int4 errors
/// of 0.093; the value range gives 0.078.
TEST(Quantization, errors_of_four_bits_on_normal_numbers) {
  auto getError = [](StorageType type, int64_t group) {
    return getRelativeError(OperandFormat::getQuantized(type, group));
  };
  EXPECT_LT(getError(StorageType::I4, 32), 0.0825);
  EXPECT_LT(getError(StorageType::U4, 32), 0.072);
  EXPECT_LT(getError(StorageType::I8, 32), 0.0054);
  // f16 scales are sufficient for bytes.
  EXPECT_LT(getRelativeError(OperandFormat::getQuantized(StorageType::I8, 32)
                                 .withScales(StorageType::F16)),
            getError(StorageType::I8, 32) * 1.01);
  // At 4.5 bits per element, i4 with group size 32 is more precise than ui4
  // with offsets and group size 64.
  EXPECT_LT(getError(StorageType::I4, 32), getError(StorageType::U4, 64));
}

TEST(Quantization, numbers_of_a_grid_of_four_bits_are_exact) {
  std::vector<float> numbers;
  for (int i = 0; i < 32; ++i)
    numbers.push_back(static_cast<float>(i * 7 % 16) * 0.125f - 0.5f);
  std::vector<int8_t> whole(32);
  const GroupScale group = quantizeGroup(
      numbers.data(), 32, OperandFormat::getQuantized(StorageType::U4, 32),
      whole.data());
  EXPECT_EQ(group.scale, 0.125f);
  EXPECT_EQ(group.minimum, -0.5f);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(whole[i], i * 7 % 16);
}

TEST(Quantization, equal_numbers_are_a_minimum) {
  const std::vector<float> numbers(32, -3);
  std::vector<int8_t> whole(32, 1);
  const GroupScale group = quantizeGroup(
      numbers.data(), 32, OperandFormat::getQuantized(StorageType::U4, 32),
      whole.data());
  EXPECT_EQ(group.minimum, -3);
  EXPECT_EQ(whole, std::vector<int8_t>(32));
}

TEST(Quantization, scales_without_a_place_in_their_type_are_not_numbers) {
  const std::vector<float> numbers = {1e6f, -1e6f};
  std::vector<int8_t> whole(2);
  EXPECT_TRUE(
      std::isnan(quantizeGroup(numbers.data(), 2,
                               OperandFormat::getQuantized(StorageType::I4, 32),
                               whole.data())
                     .scale));
}

/// The sum of squared errors for the same values and importances, quantized
/// with these importances (null: without) and weighted by them.
double getImportantError(const OperandFormat &format, bool isGiven) {
  test::Random random(3);
  double error = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<float> numbers(format.group), importance(format.group);
    for (int64_t i = 0; i < format.group; ++i) {
      numbers[i] = static_cast<float>(random.between(-1000, 1000));
      // A few inputs are much larger than the others.
      importance[i] = random.between(0, 15) == 0 ? 400 : 1;
    }
    std::vector<int8_t> whole(format.group);
    const GroupScale group =
        quantizeGroup(numbers.data(), format.group, format, whole.data(),
                      isGiven ? importance.data() : nullptr);
    for (int64_t i = 0; i < format.group; ++i) {
      const double difference =
          numbers[i] - double(dequantize(format, whole[i], group));
      error += importance[i] * difference * difference;
    }
  }
  return error;
}

TEST(Quantization, important_numbers_are_more_exact) {
  for (const OperandFormat &format : OperandFormat::getQuantizedFormats())
    EXPECT_LT(getImportantError(format, true), getImportantError(format, false))
        << format.str();
  const auto few = OperandFormat::getQuantized(StorageType::U4, 128);
  EXPECT_LT(getImportantError(few, true), 0.9 * getImportantError(few, false));
}

TEST(Quantization, equal_importances_change_no_bit) {
  test::Random random(5);
  for (const OperandFormat &format : OperandFormat::getQuantizedFormats()) {
    std::vector<float> numbers(format.group);
    for (float &number : numbers)
      number = static_cast<float>(random.between(-1000, 1000)) / 7;
    std::vector<int8_t> without(format.group), with(format.group);
    const std::vector<float> ones(format.group, 1);
    const GroupScale one = quantizeGroup(numbers.data(), format.group, format,
                                         without.data()),
                     two = quantizeGroup(numbers.data(), format.group, format,
                                         with.data(), ones.data());
    EXPECT_EQ(one.scale, two.scale);
    EXPECT_EQ(one.minimum, two.minimum);
    EXPECT_EQ(without, with);
  }
}

TEST(Quantization, numbers_that_nothing_multiplies_are_finite) {
  const std::vector<float> numbers = {1, -2, 3, 0.5f}, zeros(4, 0);
  for (const OperandFormat &format : OperandFormat::getQuantizedFormats()) {
    std::vector<int8_t> whole(4);
    const GroupScale group =
        quantizeGroup(numbers.data(), 4, format, whole.data(), zeros.data());
    EXPECT_TRUE(std::isfinite(group.scale) && std::isfinite(group.minimum));
  }
}

} // namespace
