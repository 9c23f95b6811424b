// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmuls with grouped weights by plain loops, and the weight layout in panels.
#pragma once
#include "runtime/base/DType.h"
#include "runtime/base/OperandFormat.h"
#include "test/support/Reference.h"
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace transom::test {

inline int64_t divideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// A matmul between rows and a grouped weight.
struct QuantizedProduct {
  std::string name;
  int64_t k, n, group;
  bool bias = false, residual = false;
  StorageType type = StorageType::I8;
  std::optional<StorageType> scales = std::nullopt; ///< if not the usual type
  bool floatRows = false;                           ///< the input is f32
  bool inPlace = false; ///< the residual is in the output's memory

  OperandFormat getFormat() const {
    const OperandFormat usual = OperandFormat::getQuantized(type, group);
    return scales ? usual.withScales(*scales) : usual;
  }

  int64_t numGroups() const { return divideUp(k, group); }
};

/// Integers up to 127.
inline std::vector<int8_t> makeBytes(Random &random, int64_t count) {
  std::vector<int8_t> bytes(count);
  for (int8_t &byte : bytes)
    byte = static_cast<int8_t>(random.below(255) - 127);
  return bytes;
}

/// A matmul's weights and expected result. Offsets are empty if the format has
/// none.
struct QuantizedWeights {
  std::vector<int8_t> numbers;
  std::vector<float> scales, minimums, bias;
};

inline QuantizedWeights makeWeights(Random &random, const QuantizedProduct &p) {
  const int64_t least = getLowest(p.type), most = getMaxMagnitude(p.type);
  QuantizedWeights w;
  for (int64_t i = 0; i < p.n * p.k; ++i)
    w.numbers.push_back(
        static_cast<int8_t>(random.below(most - least + 1) + least));
  w.scales = random.numbers(p.n * p.numGroups(), 0.1);
  if (p.getFormat().minimums)
    w.minimums = random.numbers(p.n * p.numGroups(), 0.1);
  for (std::vector<float> *all : {&w.scales, &w.minimums})
    for (float &x : *all)
      x = static_cast<float>(roundToStorage(*p.getFormat().scales, x));
  if (p.bias)
    w.bias = random.numbers(p.n);
  return w;
}

inline void appendScale(std::vector<char> &packed, StorageType type,
                        float value) {
  const uint16_t half = floatToHalf(value);
  const char *bytes = type == StorageType::F32
                          ? reinterpret_cast<const char *>(&value)
                          : reinterpret_cast<const char *>(&half);
  packed.insert(packed.end(), bytes, bytes + getStorageBits(type) / 8);
}

/// Panels, group by group: [group/4][32][4] with w + 128, or [group/8][32][4]
/// with w + 8 (ui4: w) for four k and, in the upper half of each byte, the next
/// four; then 32 scales and offsets.
inline std::vector<char> packGroups(const QuantizedProduct &p,
                                    const QuantizedWeights &w) {
  const OperandFormat format = p.getFormat();
  const int64_t offset = p.type == StorageType::I8   ? 128
                         : p.type == StorageType::I4 ? 8
                                                     : 0;
  std::vector<char> packed;
  for (int64_t first = 0; first < p.n; first += 32)
    for (int64_t g = 0; g < p.numGroups(); ++g) {
      const int64_t begin = g * p.group;
      const int64_t end = std::min(begin + p.group, divideUp(p.k, 32) * 32);
      // Padding is zero.
      auto at = [&](int64_t lane, int64_t k) -> int64_t {
        return first + lane < p.n && k < p.k
                   ? w.numbers[(first + lane) * p.k + k] + offset
                   : 0;
      };
      // Interleave the elements.
      for (int64_t k = begin; k < end; k += format.interleave)
        for (int64_t lane = 0; lane < 32; ++lane)
          for (int64_t i = k; i < k + 4; ++i)
            packed.push_back(char(format.interleave == 4
                                      ? at(lane, i)
                                      : at(lane, i) | at(lane, i + 4) << 4));
      // Scales and offsets follow each group.
      for (const std::vector<float> *all : {&w.scales, &w.minimums})
        for (int64_t lane = 0; lane < 32 && !all->empty(); ++lane)
          appendScale(packed, *format.scales,
                      first + lane < p.n
                          ? (*all)[(first + lane) * p.numGroups() + g]
                          : 0);
    }
  return packed;
}

/// Quantized rows; for each row group its scale and its sum.
struct QuantizedRows {
  std::vector<int8_t> numbers;
  std::vector<float> scales;
};

inline QuantizedRows makeRows(Random &random, const QuantizedProduct &p,
                              int64_t rows) {
  QuantizedRows made{makeBytes(random, rows * p.k), {}};
  for (float scale : random.numbers(rows * p.numGroups(), 0.1)) {
    const auto i = static_cast<int64_t>(made.scales.size()) / 2;
    const int64_t row = i / p.numGroups(), begin = i % p.numGroups() * p.group;
    int64_t sum = 0;
    for (int64_t k = begin; k < std::min(begin + p.group, p.k); ++k)
      sum += made.numbers[row * p.k + k];
    made.scales.push_back(scale);
    made.scales.push_back(static_cast<float>(sum));
  }
  return made;
}

/// Column `column` in the matmul for a quantized row.
inline float multiply(const QuantizedProduct &p, const QuantizedWeights &w,
                      const QuantizedRows &x, int64_t row, int64_t column) {
  float value = p.bias ? w.bias[column] : 0;
  for (int64_t g = 0; g < p.numGroups(); ++g) {
    int32_t sum = 0;
    for (int64_t k = g * p.group; k < std::min((g + 1) * p.group, p.k); ++k)
      sum += x.numbers[row * p.k + k] * w.numbers[column * p.k + k];
    const float *pair = &x.scales[(row * p.numGroups() + g) * 2];
    const int64_t ofColumn = column * p.numGroups() + g;
    value =
        std::fma(static_cast<float>(sum), pair[0] * w.scales[ofColumn], value);
    if (!w.minimums.empty())
      value = std::fma(pair[0] * pair[1], w.minimums[ofColumn], value);
  }
  return value;
}

/// The same for an f32 row, with dequantized weights.
inline float multiply(const QuantizedProduct &p, const QuantizedWeights &w,
                      const std::vector<float> &x, int64_t row,
                      int64_t column) {
  float value = p.bias ? w.bias[column] : 0;
  for (int64_t k = 0; k < p.k; ++k) {
    const int64_t group = column * p.numGroups() + k / p.group;
    const auto whole = static_cast<float>(w.numbers[column * p.k + k]);
    const float weight = w.minimums.empty() ? whole * w.scales[group]
                                            : std::fma(whole, w.scales[group],
                                                       w.minimums[group]);
    value = std::fma(x[row * p.k + k], weight, value);
  }
  return value;
}

} // namespace transom::test
