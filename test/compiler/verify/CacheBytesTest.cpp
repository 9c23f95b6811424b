// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The offsets of a position's elements in a block for each cache type.
#include "compiler/verify/CacheBytes.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace transom;

namespace {

constexpr int64_t heads = 2, depth = 6, width = 4;

class Caches : public ::testing::Test {
protected:
  Caches() {
    context.loadDialect<kern::KernDialect>();
    types = {getType(Float32Type::get(&context)),
             getType(BFloat16Type::get(&context)),
             getType(IntegerType::get(&context, 8))};
  }
  kern::CacheType getType(Type element) {
    return kern::CacheType::get(&context, heads, depth, width, 0, 0, element);
  }
  /// Values that all types can represent, different at each position.
  static CachedPosition makeNumbers(bool scales) {
    CachedPosition numbers;
    for (auto [row, count] : {std::pair(&numbers.key, heads * depth),
                              std::pair(&numbers.value, heads * width)}) {
      for (int64_t i = 0; i < count; ++i)
        row->elements.emplace_back(static_cast<double>(i) - 5);
      for (int64_t i = 0; scales && i < heads; ++i)
        row->scales.emplace_back(0.125 * static_cast<double>(i + 1));
    }
    return numbers;
  }

  MLIRContext context;
  std::vector<kern::CacheType> types;
};

} // namespace

TEST_F(Caches, NumbersOfAllPositionsLieApartInTheBlock) {
  for (kern::CacheType type : types) {
    std::set<int64_t> taken;
    for (int64_t position = 0; position < kvBlockSize; ++position)
      CacheBytes(type, position).forEachPart([&](int64_t at, int64_t bytes) {
        for (int64_t i = at; i < at + bytes; ++i)
          EXPECT_TRUE(taken.insert(i).second) << i;
      });
    // Covers all bytes exactly once.
    EXPECT_EQ(static_cast<int64_t>(taken.size()), type.getByteSize());
    EXPECT_EQ(*taken.begin(), 0);
    EXPECT_EQ(*taken.rbegin(), type.getByteSize() - 1);
  }
}

TEST_F(Caches, ReadsWhatItWrites) {
  for (kern::CacheType type : types)
    for (int64_t position : {0, 1, 33, 255}) {
      const CachedPosition numbers = makeNumbers(type.getFormat().hasScales());
      std::string block(static_cast<size_t>(type.getByteSize()), 0);
      CacheBytes(type, position).encode(numbers, block.data());
      const CachedPosition read =
          CacheBytes(type, position).decode(block.data());
      for (auto [a, b] : {std::pair(&numbers.key, &read.key),
                          std::pair(&numbers.value, &read.value)}) {
        ASSERT_EQ(a->elements.size(), b->elements.size());
        for (size_t i = 0; i < a->elements.size(); ++i)
          EXPECT_EQ(a->elements[i].real(), b->elements[i].real());
        ASSERT_EQ(a->scales.size(), b->scales.size());
        for (size_t i = 0; i < a->scales.size(); ++i)
          EXPECT_EQ(a->scales[i].real(), b->scales[i].real());
      }
    }
}

TEST_F(Caches, KeysAreInPanelsAndValuesInRows) {
  std::string block(static_cast<size_t>(types[0].getByteSize()), 0);
  CacheBytes(types[0], 37).encode(makeNumbers(false), block.data());
  const auto *floats = reinterpret_cast<const float *>(block.data());
  // [head][256 / 32][depth][32]: head 1, panel 1, column 2, lane 5.
  EXPECT_EQ(floats[depth * 256 + depth * 32 + 2 * 32 + 5], 6 + 2 - 5);
  // [head][256][width] after all keys.
  EXPECT_EQ(floats[heads * depth * 256 + width * 256 + 37 * width + 3],
            4 + 3 - 5);
}

TEST_F(Caches, ScalesMultiplyTheirHead) {
  CachedPosition numbers = makeNumbers(true);
  numbers.applyScales();
  EXPECT_EQ(numbers.key.elements[depth - 1].real(), 0);
  EXPECT_EQ(numbers.key.elements[depth].real(), 0.25);
  EXPECT_EQ(numbers.value.elements[0].real(), -5 * 0.125);
  EXPECT_TRUE(numbers.key.scales.empty());
}
