// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/commands/attention/WeightCodec.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace transom::tools;

/// Decodes as the page's script does.
static std::vector<float> decode(const std::string &bytes, size_t queries,
                                 size_t keys) {
  const size_t kept = std::min(keptWeights, keys), count = queries * kept;
  const auto *planes =
      reinterpret_cast<const uint8_t *>(bytes.data()) + queries * keys;
  std::vector<float> weights;
  for (size_t i = 0; i < queries * keys; ++i) {
    const auto code = static_cast<uint8_t>(bytes[i]);
    float weight = (float(code) / 741) * (float(code) / 741);
    if (code >= 248) {
      const size_t at = i / keys * kept + code - 248;
      const uint32_t bits =
          uint32_t(planes[at]) << 24 | uint32_t(planes[count + at]) << 16 |
          uint32_t(planes[2 * count + at]) << 8 | planes[3 * count + at];
      std::memcpy(&weight, &bits, sizeof weight);
    }
    weights.push_back(weight);
  }
  return weights;
}

/// Rows that sum to 1; with a larger `spread` fewer keys matter.
static std::vector<float> makeWeights(size_t queries, size_t keys,
                                      double spread) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0, spread);
  std::vector<float> weights;
  for (size_t query = 0; query < queries; ++query) {
    std::vector<double> row(keys);
    double sum = 0;
    for (double &weight : row)
      sum += weight = std::exp(normal(random));
    for (double weight : row)
      weights.push_back(float(weight / sum));
  }
  return weights;
}

TEST(WeightCodec, LargestAreExactAndTheOthersClose) {
  for (size_t keys : {1u, 2u, 7u, 8u, 9u, 10u, 33u, 512u})
    for (double spread : {0.0, 0.1, 1.0, 4.0}) {
      const std::vector<float> weights = makeWeights(20, keys, spread);
      const std::string bytes = encodeWeights(weights.data(), 20, keys);
      ASSERT_EQ(bytes.size(), 20 * (keys + 4 * std::min<size_t>(8, keys)));
      const std::vector<float> decoded = decode(bytes, 20, keys);
      for (size_t query = 0; query < 20; ++query) {
        const auto row = weights.begin() + ptrdiff_t(query * keys);
        std::vector<float> sorted(row, row + ptrdiff_t(keys));
        std::sort(sorted.begin(), sorted.end(), std::greater<>());
        const float eighth = sorted[std::min<size_t>(8, keys) - 1];
        for (size_t key = 0; key < keys; ++key) {
          const float weight = row[ptrdiff_t(key)];
          const float shown = decoded[query * keys + key];
          if (weight > eighth)
            EXPECT_EQ(shown, weight);
          EXPECT_NEAR(shown, weight, 1.0 / 2222);
        }
      }
    }
}

TEST(WeightCodec, OfEqualWeightsTheFirstAreKept) {
  const std::vector<float> weights(10, 0.1f);
  const std::string bytes = encodeWeights(weights.data(), 1, 10);
  for (size_t key = 0; key < 8; ++key)
    EXPECT_EQ(static_cast<uint8_t>(bytes[key]), 248 + key);
  EXPECT_LT(static_cast<uint8_t>(bytes[8]), 248);
  EXPECT_LT(static_cast<uint8_t>(bytes[9]), 248);
}

TEST(WeightCodec, ZerosAreZeros) {
  const std::vector<float> weights = {0, 1, 0, 0};
  const std::string bytes = encodeWeights(weights.data(), 1, 4);
  EXPECT_EQ(bytes.substr(0, 4), std::string("\0\xf8\0\0", 4));
  EXPECT_EQ(decode(bytes, 1, 4), weights);
}

/// Decodes as the page's script does.
static std::string decodeText(const std::string &text) {
  auto getDigit = [](char c) {
    return uint32_t(c) - 33 - (c > '&') - (c > '<') - (c > '>');
  };
  std::string bytes;
  uint32_t bits = 0;
  unsigned count = 0;
  for (size_t i = 0; i < text.size(); i += 2) {
    const bool pair = i + 1 < text.size();
    const uint32_t digit = getDigit(text[i]);
    bits |= (pair ? digit * 91 + getDigit(text[i + 1]) : digit) << count;
    for (count += pair ? 13 : 6; count >= 8; count -= 8, bits >>= 8)
      bytes += static_cast<char>(bits & 0xff);
  }
  return bytes;
}

TEST(WeightCodec, TextComesBackAndNeedsNoEscapes) {
  std::mt19937 random(5);
  for (size_t size = 0; size < 300; ++size)
    for (int kind = 0; kind < 3; ++kind) {
      std::string bytes;
      for (size_t i = 0; i < size; ++i)
        bytes += static_cast<char>(kind == 0 ? 0 : kind == 1 ? 255 : random());
      const std::string text = encodeText(bytes);
      EXPECT_EQ(decodeText(text), bytes);
      EXPECT_EQ(text.find_first_of("&<>"), std::string::npos);
      for (char c : text)
        EXPECT_TRUE(c > ' ' && c <= '~');
      EXPECT_LE(text.size(), size * 16 / 13 + 2);
    }
}

TEST(WeightCodec, Base64) {
  EXPECT_EQ(encodeBase64(""), "");
  EXPECT_EQ(encodeBase64("f"), "Zg==");
  EXPECT_EQ(encodeBase64("fo"), "Zm8=");
  EXPECT_EQ(encodeBase64("foo"), "Zm9v");
  EXPECT_EQ(encodeBase64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encodeBase64("\xff\xfe\xfd"), "//79");
}
