// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exponential, logarithm and sums against libm, and the scan over long
// rows.
#include "runtime/generate/Softmax.h"
#include "test/runtime/generate/RowGroups.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace transom;
using namespace transom::test;

static std::vector<float> randomRow(size_t width, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> row(width);
  for (float &value : row)
    value = float(int(random() % 4000) - 2000) / 64; // with ties
  return row;
}

TEST(Softmax, exponential) {
  for (double x = -700; x <= 700; x += 0.0371)
    EXPECT_NEAR(portableExp(x) / std::exp(x), 1, 5e-16) << x;
  EXPECT_EQ(portableExp(0), 1);
  EXPECT_EQ(portableExp(-701), 0);
  EXPECT_EQ(portableExp(-std::numeric_limits<double>::infinity()), 0);
}

TEST(Softmax, logarithm) {
  for (double x = 1e-3; x < 1e6; x *= 1.0173)
    EXPECT_NEAR(portableLog(x), std::log(x),
                1e-15 * std::max(1.0, std::fabs(std::log(x))))
        << x;
  EXPECT_EQ(portableLog(1), 0);
}

TEST(Softmax, log_sum_exp_of_any_width) {
  for (size_t width : {1, 7, 8, 9, 63, 64, 65, 1000, 50257}) {
    std::vector<float> row = randomRow(width, unsigned(width));
    double top = *std::max_element(row.begin(), row.end()), sum = 0;
    for (float value : row)
      sum += std::exp(double(value) - top);
    EXPECT_NEAR(logSumExp(row.data(), int64_t(width)), top + std::log(sum),
                1e-12);
  }
}

/// Bits that must not depend on the host: change them deliberately.
TEST(Softmax, bits_are_pinned) {
  std::vector<float> row(1001);
  for (size_t i = 0; i != row.size(); ++i)
    row[i] = float(int((i * 7919) % 1001) - 500) / 37;
  double value = logSumExp(row.data(), 1001);
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  EXPECT_EQ(bits, 0x4031234e5d276376u);
}

TEST(RowScan, finds_the_first_of_the_largest) {
  for (size_t width : {1, 5, 63, 64, 65, 200, 4096, 50257}) {
    std::vector<float> row = randomRow(width, unsigned(width) + 1);
    RowScan scan{int64_t(width)};
    EXPECT_TRUE(scan.scan(row.data()));
    auto largest = std::max_element(row.begin(), row.end());
    EXPECT_EQ(scan.maximum(), *largest);
    EXPECT_EQ(scan.argmax(), largest - row.begin()) << width;
  }
}

TEST(RowScan, tells_of_numbers_that_are_none) {
  std::vector<float> row = randomRow(300, 3);
  RowScan scan(300);
  for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                    std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity()})
    for (size_t at : {size_t(0), size_t(63), size_t(64), size_t(299)}) {
      std::vector<float> other = row;
      other[at] = bad;
      EXPECT_FALSE(scan.scan(other.data())) << at;
      EXPECT_EQ(firstNonFinite(other.data(), 300), int64_t(at));
    }
  EXPECT_TRUE(scan.scan(row.data()));
  EXPECT_EQ(firstNonFinite(row.data(), 300), -1);
}

TEST(RowScan, finds_the_same_with_a_summary) {
  for (size_t width : {1, 5, 64, 65, 200, 4100}) {
    std::vector<float> row = randomRow(width, unsigned(width) + 7);
    row[width / 3] = row[width / 2]; // possibly two max values
    RowScan plain{int64_t(width)}, scan{int64_t(width)};
    const RowGroups groups(row.data(), int64_t(width));
    EXPECT_TRUE(plain.scan(row.data()));
    EXPECT_TRUE(scan.scan(row.data(), groups.maxima.data()));
    EXPECT_EQ(scan.maximum(), plain.maximum());
    EXPECT_EQ(scan.argmax(), plain.argmax());
    for (size_t count : {1, 8, 63, 64, 65, 100}) {
      std::vector<int32_t> found, expected;
      plain.gatherLargest(count, expected);
      scan.gatherLargest(count, found);
      EXPECT_EQ(found, expected) << width << " " << count;
    }
    row[width - 1] = std::numeric_limits<float>::quiet_NaN();
    const RowGroups bad(row.data(), int64_t(width));
    EXPECT_FALSE(scan.scan(row.data(), bad.maxima.data()));
  }
}

TEST(Softmax, sums_of_groups_are_the_sum) {
  for (size_t width : {1, 64, 65, 511, 512, 513, 5000}) {
    const std::vector<float> row = randomRow(width, unsigned(width));
    const RowGroups groups(row.data(), int64_t(width));
    const double expected = sumExp(row.data(), int64_t(width), 3.5);
    EXPECT_NEAR(sumGroups(groups.maxima.data(), groups.sums.data(),
                          int64_t(groups.sums.size()), 3.5),
                expected, 1e-6 * expected)
        << width;
  }
  EXPECT_EQ(sumGroups(nullptr, nullptr, 0, 0), 0);
}

TEST(RowScan, gathers_all_of_the_largest) {
  for (size_t width : {10, 64, 1000, 4097})
    for (size_t count : {1, 2, 9, 40, 5000}) {
      std::vector<float> row = randomRow(width, unsigned(width + count));
      row[width / 2] = -std::numeric_limits<float>::infinity();
      RowScan scan{int64_t(width)};
      scan.scan(row.data());
      std::vector<int32_t> found;
      scan.gatherLargest(count, found);
      std::vector<float> sorted = row;
      std::sort(sorted.begin(), sorted.end(), std::greater<float>());
      float bound = sorted[std::min(count, width - 1) - 1];
      EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
      for (size_t i = 0; i != width; ++i)
        if (row[i] >= bound)
          EXPECT_TRUE(
              std::binary_search(found.begin(), found.end(), int32_t(i)))
              << width << " " << count;
      for (int32_t i : found)
        EXPECT_TRUE(std::isfinite(row[size_t(i)]));
    }
}
