// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmuls on each head's columns against one multiply-add chain per output,
// with every buffer and weight next to an inaccessible page.
#include "dialects/common/PositionBuckets.h"
#include "test/passes/lower/PhaseText.h"
#include "test/passes/lower/RunPhase.h"
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace transom::test;

namespace {

constexpr int64_t kHeads = 3;

/// One matmul per head.
struct HeadCase {
  std::string name;
  int64_t n, k; ///< per head
  int64_t maxDistance = 0;
};

/// The module for a case. Rows have strides in input and output.
std::string getHeadText(const HeadCase &c) {
  const int64_t in = kHeads * c.k, out = kHeads * c.n;
  const std::string n = std::to_string(c.n);
  std::string weight = "!kern.weight<[" + std::to_string(out) + ", " +
                       std::to_string(c.k) + "] x f32, panels32, splits [" + n +
                       ", " + n + ", " + n + "]>",
              x = bufferType("rows, " + std::to_string(in), "f32",
                             ", stride " + std::to_string(in + 3)),
              y = bufferType("3*rows, " + n, "f32",
                             ", stride " + std::to_string(c.n + 5));
  return weightDefinition("w", weight) +
         phaseFunction(
             {"product", "%x: " + x + ", %y: " + y,
              raggedDefinition() + weightValue("w", "w", weight),
              "kern.head_gemm %x, %w ragged %s outs(%y) heads 3 {max_distance "
              "= " +
                  std::to_string(c.maxDistance) + " : i64} : " + x + ", " +
                  weight + ", !kern.ragged<0>, " + y});
}

/// Head h's columns in each row.
std::vector<float> getHead(const std::vector<float> &all, int64_t h,
                           int64_t width) {
  std::vector<float> head;
  for (size_t i = 0; i < all.size(); i += kHeads * width)
    head.insert(head.end(), all.begin() + i + h * width,
                all.begin() + i + (h + 1) * width);
  return head;
}

/// Rows with elements between them that nothing may read or write.
std::vector<float> spreadRows(const std::vector<float> &rows, int64_t width,
                              int64_t stride) {
  std::vector<float> spread;
  for (size_t i = 0; i < rows.size(); i += width) {
    spread.insert(spread.end(), rows.begin() + i, rows.begin() + i + width);
    spread.resize(spread.size() + stride - width, 1e30f);
  }
  if (!spread.empty()) // nothing needs the end of the last row
    spread.resize(spread.size() - (stride - width));
  return spread;
}

constexpr float kUnwritten = 1e30f;

/// Output [heads * rows, n] with its strides; columns that no distance below
/// `length` has are not written.
std::vector<float> getExpected(const HeadCase &c, const std::vector<float> &x,
                               const std::vector<float> &weight,
                               int64_t length) {
  const int64_t rows = x.size() / (kHeads * c.k);
  const auto [first, last] =
      transom::PositionBuckets{c.n, c.maxDistance}.getRows(length, 32);
  std::vector<float> all;
  for (int64_t h = 0; h < kHeads; ++h) {
    std::vector<float> own(weight.begin() + h * c.n * c.k,
                           weight.begin() + (h + 1) * c.n * c.k);
    std::vector<float> product =
        referenceLinear(getHead(x, h, c.k), own, nullptr, rows, c.n, c.k);
    for (int64_t i = 0; i < rows * c.n; ++i)
      if (i % c.n < first || i % c.n >= last)
        product[i] = kUnwritten;
    all.insert(all.end(), product.begin(), product.end());
  }
  return spreadRows(all, c.n, c.n + 5);
}

void checkHeads(const HeadCase &c) {
  KernelHarness harness(getHeadText(c));
  Random random(5);
  const int64_t in = kHeads * c.k;
  std::vector<float> weight = random.numbers(kHeads * c.n * c.k);
  std::vector<float> packed = packPanels(weight, c.k, {c.n, c.n, c.n});
  ASSERT_EQ(packed.size() * 4, harness.weightBytes("w"));
  std::memcpy(harness.weight("w"), packed.data(), packed.size() * 4);
  // Uniform batches with different lengths.
  for (auto [batch, length] :
       {std::pair(0, 0), std::pair(1, 1), std::pair(2, 3), std::pair(1, 40),
        std::pair(3, 131)}) {
    RaggedTable s(
        std::vector<std::vector<int>>(batch, std::vector<int>(length, 1)),
        false);
    std::vector<float> x = random.numbers(s.rows() * in);
    std::vector<float> expected = getExpected(c, x, weight, length);
    for (const std::string &isa : harness.isas())
      for (int64_t numWorkers : {1, 2, 7}) {
        SCOPED_TRACE(c.name + " " + isa + " length " + std::to_string(length) +
                     " workers " + std::to_string(numWorkers));
        Guarded<float> input(spreadRows(x, in, in + 3)),
            output(std::vector<float>(expected.size(), kUnwritten));
        harness.run(isa, "product",
                    {{{"batch", batch},
                      {"seq", length},
                      {"rows", s.rows()},
                      {"keys", s.keys()}},
                     {input.data(), output.data()},
                     {s.table()},
                     numWorkers},
                    numWorkers % 2 == 0);
        EXPECT_EQ(output.copy(), expected);
      }
  }
}

} // namespace

TEST(LowerHeadGemm, ComputesChains) {
  for (const HeadCase &c :
       {HeadCase{"whole panels", 64, 8}, HeadCase{"a part of a panel", 10, 21},
        HeadCase{"more than a panel", 50, 64}})
    checkHeads(c);
}
