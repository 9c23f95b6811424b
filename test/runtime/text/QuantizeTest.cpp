// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embeddings in bytes and bits, with sentence-transformers values.
#include "runtime/text/Quantize.h"
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace transom;

static std::vector<uint8_t> quantize(const std::vector<float> &embeddings,
                                     size_t count, transom_precision precision,
                                     const float *ranges = nullptr) {
  const size_t size = embeddings.size() / count;
  Result<size_t> bytes = getQuantizedSize(precision, size);
  EXPECT_TRUE(bytes);
  std::vector<uint8_t> out(count * *bytes);
  Result<void> done = quantizeEmbeddings(embeddings.data(), count, size,
                                         precision, ranges, out.data());
  EXPECT_TRUE(bool(done)) << done.error().message;
  return out;
}

using Bytes = std::vector<uint8_t>;

TEST(Quantize, bits) {
  const std::vector<float> x = {1, -1, 0, 2, 3, -4, 5, 6, -7, 8};
  EXPECT_EQ(quantize(x, 1, TRANSOM_PRECISION_UBINARY), (Bytes{0x9b, 0x40}));
  EXPECT_EQ(quantize(x, 1, TRANSOM_PRECISION_BINARY), (Bytes{0x1b, 0xc0}));
}

TEST(Quantize, bytes_by_the_ranges_of_embeddings) {
  // The second element is always the same.
  const std::vector<float> x = {0, 7, 255, 7, 51, 7};
  EXPECT_EQ(quantize(x, 3, TRANSOM_PRECISION_INT8),
            (Bytes{0x80, 0x80, 0x7f, 0x80, uint8_t(51 - 128), 0x80}));
}

TEST(Quantize, bytes_by_given_ranges) {
  const float ranges[] = {-1, 1}, infinity = INFINITY;
  EXPECT_EQ(quantize({0, -3, 3, -infinity, infinity, NAN}, 6,
                     TRANSOM_PRECISION_INT8, ranges),
            (Bytes{uint8_t(127 - 128), 0x80, 0x7f, 0x80, 0x7f, 0x80}));
}

TEST(Quantize, refuses_ranges_of_one_embedding) {
  const float x[] = {1, 2};
  uint8_t out[2];
  Result<void> done =
      quantizeEmbeddings(x, 1, 2, TRANSOM_PRECISION_INT8, nullptr, out);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Usage);
  Result<size_t> size = getQuantizedSize(transom_precision(0), 2);
  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().message, "precision is 1, 2 or 3, got 0");
}
