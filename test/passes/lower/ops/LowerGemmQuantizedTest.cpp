// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantized matmuls in groups, and row quantization, bit by bit against plain
// loops on each instruction set.
#include "test/passes/lower/PhaseText.h"
#include "test/passes/lower/RunPhase.h"
#include "test/passes/lower/ops/QuantizedGroup.h"
#include "test/passes/lower/ops/QuantizedProduct.h"
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

//===----------------------------------------------------------------------===//
// GEMMs
//===----------------------------------------------------------------------===//

/// The module for a matmul.
std::string getText(const QuantizedProduct &p) {
  const std::string rows = bufferType("rows, " + str(p.n)),
                    input = bufferType("rows, " + str(p.k),
                                       p.floatRows ? "f32" : "i8"),
                    scales = bufferType("rows, " + str(2 * p.numGroups())),
                    weight = "!kern.weight<[" + str(p.n) + ", " + str(p.k) +
                             "] x #kern.format<" + p.getFormat().str() +
                             ">, panels32>",
                    vector = "!kern.weight<[" + str(p.n) + "] x f32, padded32>";
  std::string definitions = weightDefinition(p.name + "w", weight),
              values = weightValue("w", p.name + "w", weight),
              args = "%x: " + input, op = "kern.gemm %x, %w",
              types = input + ", " + weight;
  // Optional operands extend arguments, operation and types alike.
  if (!p.floatRows) {
    args += ", %s: " + scales;
    op += " scales %s";
    types += ", " + scales;
  }
  if (p.bias) {
    definitions += weightDefinition(p.name + "b", vector);
    values += weightValue("b", p.name + "b", vector);
    op += " bias %b";
    types += ", " + vector;
  }
  if (p.residual) {
    args += ", %r: " + rows;
    op += " residual %r";
    types += ", " + rows;
  }
  if (!p.inPlace)
    args += ", %y: " + rows;
  return definitions +
         phaseFunction({p.name, args, values,
                        op + " outs(" + (p.inPlace ? "%r" : "%y") +
                            ") : " + types + ", " + rows});
}

void fill(KernelHarness &harness, const std::string &name, const void *data,
          size_t bytes) {
  ASSERT_EQ(harness.weightBytes(name), bytes) << name;
  std::memcpy(harness.weight(name), data, bytes);
}

/// Runs a matmul and compares; `input` are the buffers that it reads.
template <typename Rows>
void checkProduct(KernelHarness &harness, const QuantizedProduct &p,
                  const QuantizedWeights &w, const Rows &x,
                  std::vector<void *> input, int64_t rows, Random &random) {
  Guarded<float> residual(random.numbers(rows * p.n)), y(rows * p.n);
  PhaseCall call{{{"rows", rows}}, std::move(input), {}, 1};
  if (p.residual && !p.inPlace)
    call.args.push_back(residual.data());
  call.args.push_back(y.data());
  // The expected values, with the residual added at the end.
  std::vector<float> expected;
  for (int64_t i = 0; i < rows * p.n; ++i) {
    const float value = multiply(p, w, x, i / p.n, i % p.n);
    expected.push_back(p.residual ? value + residual[i] : value);
  }
  auto check = [&] {
    for (int64_t i = 0; i < rows * p.n; ++i)
      if (std::memcmp(&expected[i], &y[i], 4) != 0) {
        ADD_FAILURE() << p.name << " rows " << rows << " number " << i << ": "
                      << y[i] << " in place of " << expected[i];
        return;
      }
  };
  // In place, each run first restores the residual.
  if (!p.inPlace)
    return runAll(harness, p.name, call, check);
  for (const std::string &isa : harness.isas()) {
    SCOPED_TRACE(isa);
    std::copy_n(residual.data(), rows * p.n, y.data());
    harness.run(isa, p.name, call);
    check();
  }
}

void checkProduct(KernelHarness &harness, const QuantizedProduct &p,
                  const QuantizedWeights &w, int64_t rows) {
  Random random(rows * 131 + p.k);
  if (p.floatRows) {
    const std::vector<float> x = random.numbers(rows * p.k);
    Guarded<float> input(x);
    return checkProduct(harness, p, w, x, {input.data()}, rows, random);
  }
  const QuantizedRows x = makeRows(random, p, rows);
  Guarded<int8_t> numbers(x.numbers);
  Guarded<float> scales(x.scales);
  checkProduct(harness, p, w, x, {numbers.data(), scales.data()}, rows, random);
}

/// Runs matmuls with N rows.
void checkProducts(const std::vector<QuantizedProduct> &products,
                   const std::vector<int64_t> &allRows) {
  std::string text;
  for (const QuantizedProduct &p : products)
    text += getText(p);
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
      checkProduct(harness, p, w, rows);
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
      {"row", 768, 40, 1024, true, true},
      {"half", 1024, 33, 512, true},
      {"wide_blocks", 2624, 65, 1024, true, true},
      {"blocks_of_groups", 1536, 64, 128, true, true},
      {"in_place", 1536, 64, 128, true, true, StorageType::I8, std::nullopt,
       false, true},
      {"nibbles", 64, 40, 32, true, true, StorageType::I4},
      {"nibbles_wide", 640, 40, 512, true, false, StorageType::I4},
      {"minimums_row", 1024, 33, 1024, true, false, StorageType::U4},
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
  // Each format with some sizes; K with several blocks and with a short group.
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
  const Shape shapes[] = {{4, 32},   {64, 128},    {384, 128},  {312, 64},
                          {100, 32}, {1024, 1024}, {776, 1024}, {1300, 512}};
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
