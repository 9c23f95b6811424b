// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of whole numbers in groups, and what quantizes their rows, bit by
// bit against plain loops on each instruction set.
#include "runtime/base/DType.h"
#include "runtime/weights/OperandFormat.h"
#include "test/passes/lower/PhaseText.h"
#include "test/passes/lower/RunPhase.h"
#include "test/passes/lower/ops/QuantizedGroup.h"
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

int64_t divideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

struct QuantizedProduct {
  std::string name;
  int64_t k, n, group;
  bool bias = false, residual = false;
  StorageType type = StorageType::I8;
  std::optional<StorageType> scales = std::nullopt; ///< if not the usual type
  bool floatRows = false;                           ///< the input is f32

  OperandFormat getFormat() const {
    const OperandFormat usual = OperandFormat::getQuantized(type, group);
    return scales ? usual.withScales(*scales) : usual;
  }

  int64_t numGroups() const { return divideUp(k, group); }
  std::string getText() const {
    const std::string rows = bufferType("rows, " + str(n)),
                      input = bufferType("rows, " + str(k),
                                         floatRows ? "f32" : "i8"),
                      scales = bufferType("rows, " + str(2 * numGroups())),
                      weight = "!kern.weight<[" + str(n) + ", " + str(k) +
                               "] x #kern.format<" + getFormat().str() +
                               ">, panels32>",
                      vector = "!kern.weight<[" + str(n) + "] x f32, padded32>";
    std::string definitions = weightDefinition(name + "w", weight),
                values = weightValue("w", name + "w", weight),
                args = "%x: " + input, op = "kern.gemm %x, %w",
                types = input + ", " + weight;
    if (!floatRows) {
      args += ", %s: " + scales;
      op += " scales %s";
      types += ", " + scales;
    }
    if (bias) {
      definitions += weightDefinition(name + "b", vector);
      values += weightValue("b", name + "b", vector);
      op += " bias %b";
      types += ", " + vector;
    }
    if (residual) {
      args += ", %r: " + rows;
      op += " residual %r";
      types += ", " + rows;
    }
    return definitions +
           phaseFunction({name, args + ", %y: " + rows, values,
                          op + " outs(%y) : " + types + ", " + rows});
  }
};

/// Whole numbers of at most 127.
std::vector<int8_t> makeBytes(Random &random, int64_t count) {
  std::vector<int8_t> bytes(count);
  for (int8_t &byte : bytes)
    byte = static_cast<int8_t>(random.below(255) - 127);
  return bytes;
}

/// The weights of a product and what it should give. Minimums are empty where
/// the format has none.
struct QuantizedWeights {
  std::vector<int8_t> numbers;
  std::vector<float> scales, minimums, bias;
};

QuantizedWeights makeWeights(Random &random, const QuantizedProduct &p) {
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

void append(std::vector<char> &packed, StorageType type, float value) {
  const uint16_t half = floatToHalf(value);
  const char *bytes = type == StorageType::F32
                          ? reinterpret_cast<const char *>(&value)
                          : reinterpret_cast<const char *>(&half);
  packed.insert(packed.end(), bytes, bytes + getStorageBits(type) / 8);
}

/// Panels group by group: [group/4][32][4] of w + 128, or [group/8][32][4] of
/// w + 8 (of ui4: w) for four k and, in the upper halves of the bytes, the next
/// four; then 32 scales and minimums.
std::vector<char> packGroups(const QuantizedProduct &p,
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
      auto at = [&](int64_t lane, int64_t k) -> int64_t {
        return first + lane < p.n && k < p.k
                   ? w.numbers[(first + lane) * p.k + k] + offset
                   : 0;
      };
      for (int64_t k = begin; k < end; k += format.interleave)
        for (int64_t lane = 0; lane < 32; ++lane)
          for (int64_t i = k; i < k + 4; ++i)
            packed.push_back(char(format.interleave == 4
                                      ? at(lane, i)
                                      : at(lane, i) | at(lane, i + 4) << 4));
      for (const std::vector<float> *all : {&w.scales, &w.minimums})
        for (int64_t lane = 0; lane < 32 && !all->empty(); ++lane)
          append(packed, *format.scales,
                 first + lane < p.n ? (*all)[(first + lane) * p.numGroups() + g]
                                    : 0);
    }
  return packed;
}

void fill(KernelHarness &harness, const std::string &name, const void *data,
          size_t bytes) {
  ASSERT_EQ(harness.weightBytes(name), bytes) << name;
  std::memcpy(harness.weight(name), data, bytes);
}

void checkProduct(KernelHarness &harness, const QuantizedProduct &p,
                  const QuantizedWeights &w, int64_t rows, int64_t numWorkers) {
  Random random(rows * 131 + p.k);
  Guarded<int8_t> x(makeBytes(random, rows * p.k));
  std::vector<float> scales = random.numbers(rows * p.numGroups(), 0.1), pairs;
  for (int64_t i = 0; i < rows * p.numGroups(); ++i) {
    const int64_t row = i / p.numGroups(), begin = i % p.numGroups() * p.group;
    int64_t sum = 0;
    for (int64_t k = begin; k < std::min(begin + p.group, p.k); ++k)
      sum += x[row * p.k + k];
    pairs.push_back(scales[i]);
    pairs.push_back(static_cast<float>(sum));
  }
  Guarded<float> scaleRows(pairs), residual(random.numbers(rows * p.n)),
      y(rows * p.n);
  PhaseCall call{
      {{"rows", rows}}, {x.data(), scaleRows.data()}, {}, numWorkers};
  if (p.residual)
    call.args.push_back(residual.data());
  call.args.push_back(y.data());

  std::vector<float> expected;
  for (int64_t i = 0; i < rows * p.n; ++i) {
    const int64_t row = i / p.n, column = i % p.n;
    float value = p.bias ? w.bias[column] : 0;
    for (int64_t g = 0; g < p.numGroups(); ++g) {
      int32_t sum = 0, rowSum = 0;
      for (int64_t k = g * p.group; k < std::min((g + 1) * p.group, p.k); ++k) {
        sum += x[row * p.k + k] * w.numbers[column * p.k + k];
        rowSum += x[row * p.k + k];
      }
      const float ofRow = scales[row * p.numGroups() + g];
      const int64_t ofColumn = column * p.numGroups() + g;
      value =
          std::fma(static_cast<float>(sum), ofRow * w.scales[ofColumn], value);
      if (!w.minimums.empty())
        value = std::fma(ofRow * static_cast<float>(rowSum),
                         w.minimums[ofColumn], value);
    }
    expected.push_back(p.residual ? value + residual[i] : value);
  }
  runAll(harness, p.name, call, [&] {
    for (int64_t i = 0; i < rows * p.n; ++i)
      if (std::memcmp(&expected[i], &y[i], 4) != 0) {
        ADD_FAILURE() << p.name << " rows " << rows << " workers " << numWorkers
                      << " number " << i << ": " << y[i] << " in place of "
                      << expected[i];
        return;
      }
  });
}

/// A product of f32 with the numbers that the weights stand for.
void checkFloatProduct(KernelHarness &harness, const QuantizedProduct &p,
                       const QuantizedWeights &w, int64_t rows,
                       int64_t numWorkers) {
  Random random(rows * 131 + p.k);
  Guarded<float> x(random.numbers(rows * p.k)),
      residual(random.numbers(rows * p.n)), y(rows * p.n);
  PhaseCall call{{{"rows", rows}}, {x.data()}, {}, numWorkers};
  if (p.residual)
    call.args.push_back(residual.data());
  call.args.push_back(y.data());

  std::vector<float> expected;
  for (int64_t i = 0; i < rows * p.n; ++i) {
    const int64_t row = i / p.n, column = i % p.n;
    float value = p.bias ? w.bias[column] : 0;
    for (int64_t k = 0; k < p.k; ++k) {
      const int64_t group = column * p.numGroups() + k / p.group;
      const auto whole = static_cast<float>(w.numbers[column * p.k + k]);
      const float weight = w.minimums.empty() ? whole * w.scales[group]
                                              : std::fma(whole, w.scales[group],
                                                         w.minimums[group]);
      value = std::fma(x[row * p.k + k], weight, value);
    }
    expected.push_back(p.residual ? value + residual[i] : value);
  }
  runAll(harness, p.name, call, [&] {
    for (int64_t i = 0; i < rows * p.n; ++i)
      if (std::memcmp(&expected[i], &y[i], 4) != 0) {
        ADD_FAILURE() << p.name << " rows " << rows << " workers " << numWorkers
                      << " number " << i << ": " << y[i] << " in place of "
                      << expected[i];
        return;
      }
  });
}

/// Runs products with so many rows.
void checkProducts(const std::vector<QuantizedProduct> &products,
                   const std::vector<int64_t> &allRows) {
  std::string text;
  for (const QuantizedProduct &p : products)
    text += p.getText();
  KernelHarness harness(text);
  for (const QuantizedProduct &p : products) {
    Random random(p.n * 7 + p.k);
    const QuantizedWeights w = makeWeights(random, p);
    const std::vector<char> packed = packGroups(p, w);
    fill(harness, p.name + "w", packed.data(), packed.size());
    if (p.bias) {
      const std::vector<float> padded = packPadded(w.bias, {p.n});
      fill(harness, p.name + "b", padded.data(), padded.size() * 4);
    }
    for (int64_t rows : allRows)
      for (int64_t numWorkers : {1, 3})
        if (p.floatRows)
          checkFloatProduct(harness, p, w, rows, numWorkers);
        else
          checkProduct(harness, p, w, rows, numWorkers);
  }
}

TEST(LowerGemmQuantized, SumsOfGroupsAreExactAndAddedInOrder) {
  const std::vector<QuantizedProduct> products = {
      {"one", 4, 1, 32},
      {"short", 64, 40, 128, true},
      {"whole", 256, 96, 128, true, true},
      {"rest", 312, 33, 128, false, true},
      {"small", 132, 64, 32, true},
      {"middle", 200, 31, 64},
      {"blocks", 20000, 32, 128, true}, // several blocks of K
      {"nibbles", 64, 40, 32, true, true, StorageType::I4},
      {"nibbles_rest", 328, 33, 128, false, true, StorageType::I4},
      {"nibbles_middle", 200, 31, 64, false, false, StorageType::I4},
      {"nibbles_blocks", 20000, 32, 32, true, false, StorageType::I4},
      {"minimums", 96, 40, 32, true, true, StorageType::U4},
      {"minimums_rest", 328, 65, 128, false, false, StorageType::U4},
      {"minimums_middle", 200, 31, 64, false, true, StorageType::U4},
      {"narrow", 312, 65, 128, true, false, StorageType::I8, StorageType::F16},
      {"minimums_wide", 328, 65, 128, true, false, StorageType::U4,
       StorageType::F32},
      {"minimums_wide_middle", 256, 31, 64, false, true, StorageType::U4,
       StorageType::F32}};
  checkProducts(products, {1, 2, 5, 6, 7, 13, 70});
}

TEST(LowerGemmQuantized, RowsOfF32MultiplyWhatWeightsStandFor) {
  // Each format with some sizes; K of several blocks and of a short group.
  std::vector<QuantizedProduct> products;
  Random random(11);
  for (const OperandFormat &format : OperandFormat::getQuantizedFormats()) {
    QuantizedProduct p{"floats" + str(int64_t(products.size())),
                       format.interleave * (random.below(60) + 1),
                       int64_t(random.below(100)) + 1,
                       format.group,
                       random.below(2) == 0,
                       random.below(2) == 0,
                       format.element,
                       format.scales,
                       /*floatRows=*/true};
    products.push_back(p);
  }
  products.push_back({"floats_blocks", 20000, 32, 128, true, false,
                      StorageType::I8, std::nullopt, true});
  products.push_back({"floats_nibbles", 17000, 40, 32, false, true,
                      StorageType::I4, std::nullopt, true});
  checkProducts(products, {1, 2, 3, 5, 11, 12, 13, 29, 70});
}

//===----------------------------------------------------------------------===//
// Quantized rows
//===----------------------------------------------------------------------===//

TEST(LowerGemmQuantized, RowsAreQuantizedGroupByGroup) {
  struct Shape {
    int64_t width, group;
  };
  const Shape shapes[] = {{4, 32}, {64, 128}, {384, 128}, {312, 64}, {100, 32}};
  std::string text;
  for (Shape s : shapes)
    text += phaseFunction(
        {"quantize" + str(s.width),
         "%x: " + bufferType("rows, " + str(s.width)) +
             ", %y: " + bufferType("rows, " + str(s.width), "i8") + ", %s: " +
             bufferType("rows, " + str(2 * divideUp(s.width, s.group))),
         "",
         "kern.quantize %x outs(%y) scales(%s) group " + str(s.group) + " : " +
             bufferType("rows, " + str(s.width)) + ", " +
             bufferType("rows, " + str(s.width), "i8") + ", " +
             bufferType("rows, " + str(2 * divideUp(s.width, s.group)))});
  KernelHarness harness(text);
  Random random(3);
  const int64_t rows = 9;
  for (Shape s : shapes) {
    const int64_t numGroups = divideUp(s.width, s.group);
    std::vector<float> values = random.numbers(rows * s.width, 10);
    std::fill_n(values.begin() + s.width, s.width, 0.0f);
    std::fill_n(values.begin() + 2 * s.width, s.width, 0x1p-101f);
    values[3 * s.width + 1] = INFINITY;
    values[4 * s.width + 2] = NAN;
    std::fill_n(values.begin() + 5 * s.width, s.width, 3e38f);
    for (int64_t i = 0; i < s.width; ++i) // ties
      values[6 * s.width + i] = i == 0 ? 127 : float(i % 100) + 0.5f;
    Guarded<float> x(values), scales(rows * 2 * numGroups);
    Guarded<int8_t> y(rows * s.width);
    runAll(harness, "quantize" + str(s.width),
           {{{"rows", rows}}, {x.data(), y.data(), scales.data()}, {}, 2}, [&] {
             for (int64_t row = 0; row < rows; ++row)
               for (int64_t g = 0; g < numGroups; ++g) {
                 const int64_t begin = row * s.width + g * s.group,
                               count = std::min(s.group, s.width - g * s.group);
                 QuantizedGroup expected = quantize(&x[begin], count);
                 const float *pair = &scales[(row * numGroups + g) * 2];
                 EXPECT_TRUE(isSame(pair[0], expected.scale))
                     << s.width << " row " << row << " group " << g;
                 EXPECT_TRUE(isSame(pair[1], expected.sum))
                     << s.width << " row " << row << " group " << g;
                 EXPECT_EQ(std::memcmp(&y[begin], expected.numbers.data(),
                                       size_t(count)),
                           0)
                     << s.width << " row " << row << " group " << g;
               }
           });
  }
}

} // namespace
