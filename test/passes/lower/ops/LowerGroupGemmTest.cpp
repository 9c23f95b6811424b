// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmuls on row groups against one multiply-add chain per output, and
// quantized ones against plain loops, with every buffer and weight next to an
// inaccessible page.
#include "runtime/base/InstructionSet.h"
#include "test/passes/lower/PhaseText.h"
#include "test/passes/lower/RunPhase.h"
#include "test/passes/lower/ops/QuantizedProduct.h"
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace transom::test;

namespace {

constexpr int64_t kGroups = 5;

/// One matmul on groups.
struct Case {
  std::string name;
  int64_t n, k; ///< per group
  bool bias, bf16;
};

std::string repeat(int64_t value) {
  std::string list;
  for (int64_t i = 0; i < kGroups; ++i)
    list += (i ? ", " : "") + std::to_string(value);
  return list;
}

/// The module for a case. It has `n` rows, with a stride in the input.
std::string getText(const Case &c) {
  std::string element = c.bf16 ? "bf16" : "f32", k = std::to_string(c.k),
              n = std::to_string(c.n), all = std::to_string(kGroups * c.n),
              splits = ", splits [" + repeat(c.n) + "]";
  std::string weight = "!kern.weight<[" + all + ", " + k + "] x " + element +
                       ", panels32" + splits + ">",
              bias =
                  "!kern.weight<[" + all + "] x f32, padded32" + splits + ">",
              in = bufferType("n, " + k, element,
                              ", stride " + std::to_string(c.k + 3)),
              out = bufferType("n, " + n, element),
              offsets = bufferType(std::to_string(kGroups + 1), "i64");
  std::string values = weightValue("w", "w", weight);
  if (c.bias)
    values += weightValue("b", "b", bias);
  return weightDefinition("w", weight) +
         (c.bias ? weightDefinition("b", bias) : "") +
         phaseFunction(
             {"product", "%x: " + in + ", %o: " + offsets + ", %y: " + out,
              values,
              std::string("kern.group_gemm %x, %w ") +
                  (c.bias ? "bias %b " : "") + "offsets %o outs(%y) : " + in +
                  ", " + weight + (c.bias ? ", " + bias : "") + ", " + offsets +
                  ", " + out});
}

/// Weights for all groups, and one run's values.
class Products {
public:
  explicit Products(const Case &c) : c(c), harness(getText(c)), random(5) {
    weight = makeNumbers(kGroups * c.n * c.k);
    bias = random.numbers(kGroups * c.n);
    std::vector<int64_t> splits(kGroups, c.n);
    if (c.bf16)
      fill("w", packBf16Panels(weight, c.k, splits));
    else
      fill("w", packPanels(weight, c.k, splits));
    if (c.bias)
      fill("b", packPadded(bias, splits));
  }

  void check(const std::vector<int64_t> &sizes) {
    std::vector<int64_t> offsets{0};
    for (int64_t size : sizes)
      offsets.push_back(offsets.back() + size);
    const int64_t rows = offsets.back();
    std::vector<float> x = makeNumbers(rows * c.k);
    std::vector<float> padded(rows * (c.k + 3), 1e30f);
    for (int64_t i = 0; i < rows * c.k; ++i)
      padded[i / c.k * (c.k + 3) + i % c.k] = x[i];
    if (rows) // nothing needs the end of the last row
      padded.resize(padded.size() - 3);
    for (const std::string &isa : harness.isas())
      for (int64_t numWorkers : {1, 2, 3, 7}) {
        SCOPED_TRACE(c.name + " " + isa + " rows " + std::to_string(rows) +
                     " workers " + std::to_string(numWorkers));
        EXPECT_EQ(run(isa, numWorkers, padded, offsets),
                  getExpected(isa, x, offsets));
      }
  }

private:
  /// Random values that the operand type holds.
  std::vector<float> makeNumbers(int64_t count) {
    std::vector<float> numbers = random.numbers(count);
    for (float &number : numbers)
      if (c.bf16)
        number = widenBf16(roundToBf16(number));
    return numbers;
  }
  template <typename T>
  void fill(const std::string &name, const std::vector<T> &packed) {
    ASSERT_EQ(packed.size() * sizeof(T), harness.weightBytes(name));
    std::memcpy(harness.weight(name), packed.data(), packed.size() * sizeof(T));
  }

  std::vector<float> run(const std::string &isa, int64_t numWorkers,
                         const std::vector<float> &x,
                         const std::vector<int64_t> &offsets) {
    const size_t count = offsets.back() * c.n;
    Guarded<int64_t> table(offsets);
    std::vector<float> result;
    auto call = [&](auto &input, auto &output) {
      harness.run(isa, "product",
                  {{{"n", offsets.back()}},
                   {input.data(), table.data(), output.data()},
                   {},
                   numWorkers},
                  numWorkers % 2 == 0);
    };
    if (!c.bf16) {
      Guarded<float> input(x), output(count);
      call(input, output);
      return output.copy();
    }
    Guarded<uint16_t> input(x.size()), output(count);
    for (size_t i = 0; i < x.size(); ++i)
      input[i] = roundToBf16(x[i]);
    call(input, output);
    for (uint16_t bits : output)
      result.push_back(widenBf16(bits));
    return result;
  }

  std::vector<float> getExpected(const std::string &isa,
                                 const std::vector<float> &x,
                                 const std::vector<int64_t> &offsets) {
    std::vector<float> result;
    for (int64_t group = 0; group < kGroups; ++group) {
      int64_t first = offsets[group], rows = offsets[group + 1] - first;
      std::vector<float> in(x.begin() + first * c.k,
                            x.begin() + (first + rows) * c.k);
      std::vector<float> own(weight.begin() + group * c.n * c.k,
                             weight.begin() + (group + 1) * c.n * c.k);
      const float *start = c.bias ? bias.data() + group * c.n : nullptr;
      auto *linear = c.bf16 && transom::findInstructionSet(isa)->dotBf16
                         ? referenceDotLinear
                         : referenceLinear;
      for (float value : linear(in, own, start, rows, c.n, c.k))
        result.push_back(c.bf16 ? widenBf16(roundToBf16(value)) : value);
    }
    return result;
  }

  const Case &c;
  KernelHarness harness;
  Random random;
  std::vector<float> weight, bias;
};

/// The module for a quantized matmul whose sizes are per group.
std::string getText(const QuantizedProduct &p) {
  const std::string all = str(kGroups * p.n),
                    splits = ", splits [" + repeat(p.n) + "]",
                    weight = "!kern.weight<[" + all + ", " + str(p.k) +
                             "] x #kern.format<" + p.getFormat().str() +
                             ">, panels32" + splits + ">",
                    bias = "!kern.weight<[" + all + "] x f32, padded32" +
                           splits + ">",
                    input = bufferType("n, " + str(p.k),
                                       p.floatRows ? "f32" : "i8"),
                    scales = bufferType("n, " + str(2 * p.numGroups())),
                    offsets = bufferType(str(kGroups + 1), "i64"),
                    out = bufferType("n, " + str(p.n));
  std::string definitions = weightDefinition(p.name + "w", weight),
              values = weightValue("w", p.name + "w", weight),
              args = "%x: " + input, op = "kern.group_gemm %x, %w",
              types = input + ", " + weight;
  // Optional operands extend arguments, operation and types alike.
  if (!p.floatRows) {
    args += ", %s: " + scales;
    op += " scales %s";
    types += ", " + scales;
  }
  if (p.bias) {
    definitions += weightDefinition(p.name + "b", bias);
    values += weightValue("b", p.name + "b", bias);
    op += " bias %b";
    types += ", " + bias;
  }
  return definitions +
         phaseFunction({p.name, args + ", %o: " + offsets + ", %y: " + out,
                        values,
                        op + " offsets %o outs(%y) : " + types + ", " +
                            offsets + ", " + out});
}

/// Quantized weights for all groups.
class QuantizedProducts {
public:
  QuantizedProducts(KernelHarness &harness, const QuantizedProduct &p)
      : harness(harness), p(p), random(p.n * 7 + p.k) {
    std::vector<char> packed;
    std::vector<float> bias;
    for (int64_t group = 0; group < kGroups; ++group) {
      weights.push_back(makeWeights(random, p));
      const std::vector<char> own = packGroups(p, weights.back());
      packed.insert(packed.end(), own.begin(), own.end());
      const std::vector<float> &ofGroup = weights.back().bias;
      bias.insert(bias.end(), ofGroup.begin(), ofGroup.end());
    }
    fill(p.name + "w", packed);
    if (p.bias)
      fill(p.name + "b", packPadded(bias, std::vector(kGroups, p.n)));
  }

  void check(const std::vector<int64_t> &sizes) {
    // The rows for all groups.
    Guarded<int64_t> offsets(kGroups + 1);
    for (int64_t group = 0; group < kGroups; ++group)
      offsets[group + 1] = offsets[group] + sizes[group];
    const int64_t rows = offsets[kGroups];
    const QuantizedRows whole = makeRows(random, p, rows);
    const std::vector<float> floats = random.numbers(rows * p.k);
    Guarded<int8_t> numbers(whole.numbers);
    Guarded<float> x(floats), scales(whole.scales), y(rows * p.n);
    PhaseCall call{{{"n", rows}}, {x.data()}, {}, 1};
    if (!p.floatRows)
      call.args = {numbers.data(), scales.data()};
    call.args.insert(call.args.end(), {offsets.data(), y.data()});
    // Each group has its own weight.
    std::vector<float> expected;
    for (int64_t group = 0; group < kGroups; ++group)
      for (int64_t row = offsets[group]; row < offsets[group + 1]; ++row)
        for (int64_t column = 0; column < p.n; ++column)
          expected.push_back(
              p.floatRows ? multiply(p, weights[group], floats, row, column)
                          : multiply(p, weights[group], whole, row, column));
    runAll(harness, p.name, call, [&] {
      for (int64_t i = 0; i < rows * p.n; ++i)
        if (std::memcmp(&expected[i], &y[i], 4) != 0) {
          ADD_FAILURE() << p.name << " rows " << rows << " number " << i << ": "
                        << y[i] << " in place of " << expected[i];
          return;
        }
    });
  }

private:
  template <typename T>
  void fill(const std::string &name, const std::vector<T> &packed) {
    ASSERT_EQ(packed.size() * sizeof(T), harness.weightBytes(name));
    std::memcpy(harness.weight(name), packed.data(), packed.size() * sizeof(T));
  }

  KernelHarness &harness;
  const QuantizedProduct &p;
  Random random;
  std::vector<QuantizedWeights> weights; ///< by group
};

} // namespace

TEST(LowerGroupGemm, MultipliesWholeNumbers) {
  std::vector<QuantizedProduct> products;
  std::string text;
  Random random(13);
  // Each format with some sizes, and rows of either kind.
  for (const transom::OperandFormat &format :
       transom::OperandFormat::getQuantizedFormats()) {
    products.push_back({"p" + str(int64_t(products.size())),
                        format.interleave * (random.below(50) + 1),
                        random.below(70) + 1, format.group,
                        random.below(2) == 0, false, format.element,
                        format.scales, random.below(2) == 0});
  }
  // Whole AMX tiles.
  products.push_back({"tiles", 256, 70, 128, true});
  products.push_back(
      {"tiles_nibbles", 192, 40, 32, true, false, transom::StorageType::I4});
  for (const QuantizedProduct &p : products)
    text += getText(p);
  KernelHarness harness(text);
  for (const QuantizedProduct &p : products) {
    QuantizedProducts all(harness, p);
    all.check({0, 0, 0, 0, 0});
    all.check({1, 0, 1, 1, 0});
    all.check({3, 17, 0, 1, 29});
    if (p.k >= 192)
      all.check({5, 0, 70, 16, 33});
  }
}

TEST(LowerGroupGemm, ComputesChains) {
  for (const Case &c :
       {Case{"plain", 37, 21, false, false}, Case{"bias", 64, 8, true, false},
        Case{"narrow", 3, 40, true, false}, Case{"bf16", 37, 21, false, true},
        Case{"bf16 bias", 64, 8, true, true}}) {
    Products products(c);
    products.check({0, 0, 0, 0, 0});
    products.check({1, 0, 1, 1, 0});
    products.check({0, 0, 0, 70, 0});
    products.check({3, 17, 0, 1, 29});
  }
}
