// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas are the same as in quantize_embeddings in sentence-transformers,
// in f32.
#include "runtime/text/Quantize.h"
#include <algorithm>
#include <cmath>
#include <vector>

using namespace transom;

Result<size_t> transom::getQuantizedSize(transom_precision precision,
                                         size_t size) {
  switch (precision) {
  case TRANSOM_PRECISION_INT8:
    return size;
  case TRANSOM_PRECISION_BINARY:
  case TRANSOM_PRECISION_UBINARY:
    return size / 8 + (size % 8 != 0);
  }
  return usageError("precision is 1, 2 or 3, got " +
                    std::to_string(int(precision)));
}

/// Returns the min and max value for each dimension, [2, size].
static std::vector<float> getRanges(const float *embeddings, size_t count,
                                    size_t size) {
  std::vector<float> ranges(embeddings, embeddings + size);
  ranges.insert(ranges.end(), embeddings, embeddings + size);
  for (size_t i = 1; i != count; ++i)
    for (size_t j = 0; j != size; ++j) {
      const float value = embeddings[i * size + j];
      ranges[j] = std::min(ranges[j], value);
      ranges[size + j] = std::max(ranges[size + j], value);
    }
  return ranges;
}

static void quantizeToInt8(const float *embeddings, size_t count, size_t size,
                           const float *ranges, uint8_t *out) {
  for (size_t i = 0; i != count; ++i)
    for (size_t j = 0; j != size; ++j) {
      float step = (ranges[size + j] - ranges[j]) / 255;
      if (step == 0)
        step = 1;
      const float level =
          std::floor((embeddings[i * size + j] - ranges[j]) / step);
      // A NaN becomes the lowest level.
      const float bounded = level > 0 ? std::min(level, 255.0f) : 0.0f;
      out[i * size + j] = uint8_t(int8_t(int(bounded) - 128));
    }
}

static void quantizeToBits(const float *embeddings, size_t size, uint8_t offset,
                           uint8_t *out) {
  for (size_t j = 0; j < size; j += 8) {
    unsigned byte = 0;
    for (size_t bit = j; bit != std::min(size, j + 8); ++bit)
      byte |= unsigned(embeddings[bit] > 0) << (7 - (bit - j));
    out[j / 8] = uint8_t(byte - offset);
  }
}

Result<void> transom::quantizeEmbeddings(const float *embeddings, size_t count,
                                         size_t size,
                                         transom_precision precision,
                                         const float *ranges, uint8_t *out) {
  TRANSOM_ASSIGN(const size_t bytes, getQuantizedSize(precision, size));
  if (size == 0)
    return {};
  if (precision != TRANSOM_PRECISION_INT8) {
    const uint8_t offset = precision == TRANSOM_PRECISION_BINARY ? 128 : 0;
    for (size_t i = 0; i != count; ++i)
      quantizeToBits(embeddings + i * size, size, offset, out + i * bytes);
    return {};
  }
  std::vector<float> own;
  if (!ranges && count < 2)
    return usageError("int8 needs the ranges of the numbers, or 2 or more "
                      "embeddings to take them from, got " +
                      std::to_string(count));
  if (!ranges)
    own = getRanges(embeddings, count, size);
  quantizeToInt8(embeddings, count, size, ranges ? ranges : own.data(), out);
  return {};
}
