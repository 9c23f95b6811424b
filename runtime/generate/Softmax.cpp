// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums use eight lanes by index mod 8 and a fixed tree, independent of the
// host's vector width.
#include "runtime/generate/Softmax.h"
#include <algorithm>
#include <functional>
#include <limits>

using namespace transom;

// Compiles the same operations for wider vectors if the host has them. The
// dynamic loader selects the variant: musl has no such relocations, and
// sanitizers are not initialized at that time. Earlier versions of clang give
// the function a name that other files do not call.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRANSOM_SANITIZED 1
#endif
#endif
#if defined(__x86_64__) && defined(__GLIBC__) &&                               \
    !defined(TRANSOM_SANITIZED) &&                                             \
    (!defined(__clang__) || __clang_major__ >= 18)
#define TRANSOM_WIDER                                                          \
  __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TRANSOM_WIDER
#endif

static constexpr int64_t lanes = 8;
static constexpr uint32_t exponentMask = 0x7f800000;

static uint32_t getBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double getSum(const double (&sums)[lanes]) {
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
         ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

double transom::portableLog(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  // x = m * 2^k with m in [sqrt(1/2), sqrt(2)).
  int64_t k = int64_t(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
  double m;
  std::memcpy(&m, &bits, sizeof m);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    k += 1;
  }
  double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0; // 2 * artanh(s), to the 23rd power
  for (int power = 23; power >= 3; power -= 2)
    sum = (sum + 1.0 / power) * square;
  return double(k) * 0.6931471805599453 + 2 * (s + s * sum);
}

static float getLargest(const float *values, int64_t width) {
  float largest[16];
  std::fill_n(largest, 16, -std::numeric_limits<float>::infinity());
  int64_t i = 0;
  for (; i + 16 <= width; i += 16)
    for (int64_t j = 0; j != 16; ++j)
      largest[j] = values[i + j] > largest[j] ? values[i + j] : largest[j];
  for (; i != width; ++i)
    largest[0] = values[i] > largest[0] ? values[i] : largest[0];
  return *std::max_element(largest, largest + 16);
}

TRANSOM_WIDER double transom::expWeights(const float *values, int64_t width,
                                         float top, double scale,
                                         double *weights) {
  double sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    for (int64_t j = 0; j != lanes; ++j)
      weights[i + j] =
          portableExp((double(values[i + j]) - double(top)) * scale);
    for (int64_t j = 0; j != lanes; ++j)
      sums[j] += weights[i + j];
  }
  for (int64_t j = 0; i != width; ++i, ++j) {
    weights[i] = portableExp((double(values[i]) - double(top)) * scale);
    sums[j] += weights[i];
  }
  return getSum(sums);
}

TRANSOM_WIDER double transom::sumExp(const float *values, int64_t width,
                                     double shift) {
  double sums[lanes] = {}, weights[lanes];
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    for (int64_t j = 0; j != lanes; ++j)
      weights[j] = portableExp(double(values[i + j]) - shift);
    for (int64_t j = 0; j != lanes; ++j)
      sums[j] += weights[j];
  }
  for (int64_t j = 0; i != width; ++i, ++j)
    sums[j] += portableExp(double(values[i]) - shift);
  return getSum(sums);
}

TRANSOM_WIDER double transom::sumGroups(const float *maxima, const float *group,
                                        int64_t count, double shift) {
  double sums[lanes] = {}, weights[lanes];
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (int64_t j = 0; j != lanes; ++j)
      weights[j] = portableExp(double(maxima[i + j]) - shift);
    for (int64_t j = 0; j != lanes; ++j)
      sums[j] += double(group[i + j]) * weights[j];
  }
  for (int64_t j = 0; i != count; ++i, ++j)
    sums[j] += double(group[i]) * portableExp(double(maxima[i]) - shift);
  return getSum(sums);
}

TRANSOM_WIDER double transom::logSumExp(const float *logits, int64_t width) {
  const float top = getLargest(logits, width);
  return double(top) + portableLog(sumExp(logits, width, double(top)));
}

int64_t transom::firstNonFinite(const float *values, int64_t width) {
  constexpr int64_t stride = 256;
  for (int64_t begin = 0; begin < width; begin += stride) {
    const int64_t end = std::min(width, begin + stride);
    uint32_t bad = 0;
    for (int64_t i = begin; i != end; ++i)
      bad |= (getBits(values[i]) & exponentMask) == exponentMask;
    for (int64_t i = begin; bad && i != end; ++i)
      if ((getBits(values[i]) & exponentMask) == exponentMask)
        return i;
  }
  return -1;
}

RowScan::RowScan(int64_t width)
    : width(width), blocks(size_t((width + blockSize - 1) / blockSize)),
      scratch(blocks.size()) {}

/// Returns the largest value in a full block; sets `bad` if one is not finite.
static float scanBlock(const float *values, uint32_t &bad) {
  constexpr int64_t size = 64, wide = 16;
  float largest[wide];
  uint32_t flags[wide] = {};
  std::fill_n(largest, wide, -std::numeric_limits<float>::infinity());
  for (int64_t i = 0; i != size; i += wide)
    for (int64_t j = 0; j != wide; ++j) {
      float value = values[i + j];
      largest[j] = value > largest[j] ? value : largest[j];
      flags[j] |= (getBits(value) & exponentMask) == exponentMask;
    }
  for (int64_t half = wide / 2; half; half /= 2)
    for (int64_t j = 0; j != half; ++j) {
      largest[j] =
          largest[j + half] > largest[j] ? largest[j + half] : largest[j];
      flags[j] |= flags[j + half];
    }
  bad |= flags[0];
  return largest[0];
}

/// Fills `blocks`; returns false if a value is not finite.
bool RowScan::findMaxima() {
  const float *values = row;
  uint32_t bad = 0;
  for (size_t block = 0; block != blocks.size(); ++block) {
    const int64_t begin = int64_t(block) * blockSize;
    if (begin + blockSize <= width) {
      blocks[block] = scanBlock(values + begin, bad);
      continue;
    }
    blocks[block] = getLargest(values + begin, width - begin);
    bad |= firstNonFinite(values + begin, width - begin) >= 0;
  }
  return bad == 0;
}

bool RowScan::scan(const float *values, const float *maxima) {
  row = values;
  bool isFinite = true;
  if (maxima) {
    std::copy_n(maxima, blocks.size(), blocks.begin());
    isFinite = firstNonFinite(maxima, int64_t(blocks.size())) < 0;
  } else {
    isFinite = findMaxima();
  }
  top = getLargest(blocks.data(), int64_t(blocks.size()));
  return isFinite;
}

int64_t RowScan::argmax() const {
  const int64_t block =
      std::find(blocks.begin(), blocks.end(), top) - blocks.begin();
  int64_t i = block * blockSize;
  while (row[i] != top)
    ++i;
  return i;
}

void RowScan::gatherLargest(size_t count, std::vector<int32_t> &indices) {
  float bound = -std::numeric_limits<float>::max();
  // At least `count` values reach the count-th largest block maximum.
  if (count < blocks.size()) {
    constexpr size_t few = 64;
    const size_t most = std::max<size_t>(count, 1);
    auto last = scratch.begin() + int64_t(most) - 1;
    if (most <= few) {
      std::partial_sort_copy(blocks.begin(), blocks.end(), scratch.begin(),
                             last + 1, std::greater<float>());
    } else {
      std::copy(blocks.begin(), blocks.end(), scratch.begin());
      std::nth_element(scratch.begin(), last, scratch.end(),
                       std::greater<float>());
    }
    bound = std::max(bound, *last);
  }
  indices.clear();
  for (size_t block = 0; block != blocks.size(); ++block) {
    if (blocks[block] < bound)
      continue;
    const int64_t begin = int64_t(block) * blockSize;
    const int64_t end = std::min(width, begin + blockSize);
    for (int64_t i = begin; i != end; ++i)
      if (row[i] >= bound)
        indices.push_back(int32_t(i));
  }
}
