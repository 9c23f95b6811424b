// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of groups of rows against one chain of multiply-adds an output, with
// every buffer and weight next to an inaccessible page.
#include "runtime/base/InstructionSet.h"
#include "test/passes/lower/PhaseText.h"
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace transom::test;

namespace {

constexpr int64_t kGroups = 5;

/// One product of groups.
struct Case {
  std::string name;
  int64_t n, k; ///< of each group
  bool bias, bf16;
};

std::string repeat(int64_t value) {
  std::string list;
  for (int64_t i = 0; i < kGroups; ++i)
    list += (i ? ", " : "") + std::to_string(value);
  return list;
}

/// The module of a case. Rows are `n`, with a stride in the input.
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

/// Weights of all groups, and the numbers of a run.
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
  /// Random numbers that the operands' type holds.
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

} // namespace

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
