// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditions that a plan must satisfy for all sizes: buffers that live at once
// do not overlap for any symbol values, and the arena is large enough; also,
// plans for known shapes are minimal.
#include "passes/kernel/MemoryPlanner.h"
#include "test/support/TimeLimit.h"
#include <gtest/gtest.h>
#include <random>

using namespace transom;

namespace {

using Numbers = std::mt19937_64;

Polynomial parse(const char *text) { return *Polynomial::parse(text); }

int64_t below(Numbers &numbers, int64_t bound) {
  return int64_t(numbers() % uint64_t(bound));
}

/// A size as in models: constants, products between symbols, sums.
Polynomial randomSize(Numbers &numbers) {
  static const char *const forms[] = {"rows", "batch*seq", "batch*seq*seq",
                                      "keys", "parts",     "batch",
                                      "1",    "rows+keys", "batch*seq+64"};
  Polynomial size;
  for (int64_t terms = 1 + below(numbers, 2); terms > 0; --terms)
    size = size + Polynomial(1 + below(numbers, 5000)) *
                      parse(forms[below(numbers, 9)]);
  return size;
}

std::vector<BufferLifetime> randomBuffers(Numbers &numbers, int64_t count) {
  std::vector<BufferLifetime> buffers;
  for (int64_t i = 0; i < count; ++i) {
    int64_t first = below(numbers, count),
            length = below(numbers, 1 + count / 3);
    buffers.push_back({randomSize(numbers), first, first + length});
  }
  return buffers;
}

/// Symbol values: small ones and zero as often as large ones.
struct Values {
  std::map<std::string, int64_t> values;

  explicit Values(Numbers &numbers) {
    for (const char *name : {"rows", "batch", "seq", "keys", "parts"}) {
      const int64_t bounds[] = {1, 2, 3, 600};
      values[name] = below(numbers, bounds[below(numbers, 4)]);
    }
  }
  int64_t of(const Polynomial &polynomial) const {
    return *polynomial.evaluate(
        [&](const std::string &name) -> std::optional<int64_t> {
          return values.at(name);
        });
  }
};

bool liveTogether(const BufferLifetime &a, const BufferLifetime &b) {
  return a.first <= b.last && b.first <= a.last;
}

/// All conditions for these values.
void expectValid(const std::vector<BufferLifetime> &buffers,
                 const MemoryPlan &plan, const Values &values) {
  ASSERT_EQ(plan.offsets.size(), buffers.size());
  int64_t arena = values.of(plan.bytes);
  std::vector<int64_t> begin, end;
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t offset = values.of(plan.offsets[i]);
    EXPECT_GE(offset, 0);
    EXPECT_LE(offset, arena) << "buffer " << i;
    begin.push_back((offset + 63) / 64 * 64); // as the runtime rounds it
    end.push_back(begin[i] + values.of(buffers[i].bytes));
    if (begin[i] < end[i])
      EXPECT_LE(end[i], arena) << "buffer " << i;
  }
  for (size_t i = 0; i < buffers.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (liveTogether(buffers[i], buffers[j]) && begin[i] < end[i] &&
          begin[j] < end[j])
        EXPECT_TRUE(end[i] <= begin[j] || end[j] <= begin[i])
            << "buffers " << j << " and " << i;
}

/// The max bytes that live at one step for these values.
int64_t fullestStep(const std::vector<BufferLifetime> &buffers,
                    const Values &values) {
  int64_t most = 0;
  for (const BufferLifetime &at : buffers) {
    int64_t live = 0;
    for (const BufferLifetime &buffer : buffers)
      if (buffer.first <= at.first && at.first <= buffer.last)
        live += values.of(buffer.bytes);
    most = std::max(most, live);
  }
  return most;
}

} // namespace

TEST(MemoryPlanner, LiveBuffersNeverOverlap) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Numbers numbers(seed);
    std::vector<BufferLifetime> buffers =
        randomBuffers(numbers, 1 + below(numbers, 40));
    MemoryPlan plan = planMemory(buffers);
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (int i = 0; i < 40; ++i) {
      Values values(numbers);
      expectValid(buffers, plan, values);
      EXPECT_GE(values.of(plan.bytes), fullestStep(buffers, values));
    }
  }
}

TEST(MemoryPlanner, CoefficientsAreNeverNegative) {
  Numbers numbers(7);
  MemoryPlan plan = planMemory(randomBuffers(numbers, 60));
  plan.offsets.push_back(plan.bytes);
  for (const Polynomial &offset : plan.offsets)
    for (const auto &[monomial, coefficient] : offset.terms())
      EXPECT_GT(coefficient, 0);
}

TEST(MemoryPlanner, ArenaIsAtLeastTheLowerBound) {
  for (uint64_t seed = 100; seed < 140; ++seed) {
    Numbers numbers(seed);
    std::vector<BufferLifetime> buffers = randomBuffers(numbers, 30);
    MemoryPlan plan = planMemory(buffers);
    EXPECT_TRUE(plan.bytes.coversCoefficients(plan.lowerBound) ||
                [&] { // sizes that cannot be compared: at the nominal values
                  Values at(numbers);
                  for (auto &[name, value] : at.values)
                    value = 128;
                  return at.of(plan.bytes) >= at.of(plan.lowerBound);
                }())
        << "seed " << seed;
  }
}

TEST(MemoryPlanner, PlansOfNothing) {
  MemoryPlan none = planMemory({});
  EXPECT_EQ(none.bytes, Polynomial());
  MemoryPlan empty =
      planMemory({{Polynomial(), 0, 3}, {parse("64*rows"), 0, 3}});
  EXPECT_EQ(empty.bytes, parse("64*rows"));
}

TEST(MemoryPlanner, AChainNeedsTwoBuffers) {
  // Each buffer is read by the operation that makes the next: two alternate.
  std::vector<BufferLifetime> buffers;
  for (int64_t i = 0; i < 50; ++i)
    buffers.push_back({parse("3072*rows"), i, i + 1});
  MemoryPlan plan = planMemory(buffers);
  EXPECT_EQ(plan.bytes, parse("6144*rows"));
  EXPECT_EQ(plan.lowerBound, plan.bytes);
}

TEST(MemoryPlanner, SmallerBuffersFillThePlaceOfALargeOne) {
  // The wide hidden layer in a feed-forward, then rows for three heads.
  std::vector<BufferLifetime> buffers = {{parse("12288*rows"), 4, 5}};
  for (int64_t i = 0; i < 3; ++i)
    buffers.push_back({parse("3072*rows"), 0, 2});
  MemoryPlan plan = planMemory(buffers);
  EXPECT_EQ(plan.bytes, parse("12288*rows"));
}

TEST(MemoryPlanner, AnEncoderLayerReachesTheLowerBound) {
  // State; query, key, value, attention; sum; wide; sum: for hidden size 768.
  std::vector<BufferLifetime> buffers = {
      {parse("3072*rows"), 0, 9},  {parse("3072*rows"), 1, 2},
      {parse("3072*rows"), 1, 2},  {parse("3072*rows"), 1, 2},
      {parse("3072*rows"), 2, 3},  {parse("3072*rows"), 3, 5},
      {parse("12288*rows"), 4, 5}, {parse("3072*rows"), 5, 6}};
  MemoryPlan plan = planMemory(buffers);
  EXPECT_EQ(plan.lowerBound, parse("21504*rows"));
  EXPECT_EQ(plan.bytes, plan.lowerBound);
}

TEST(MemoryPlanner, SizesThatCannotBeComparedStandApart) {
  MemoryPlan plan =
      planMemory({{parse("64*rows"), 0, 0}, {parse("64*batch*seq"), 1, 1}});
  EXPECT_EQ(plan.bytes, parse("64*batch*seq+64*rows"));
  ASSERT_EQ(plan.regions.size(), 2u);
  EXPECT_EQ(plan.regions[0].bytes, parse("64*batch*seq"));
  EXPECT_EQ(plan.regions[0].buffers, std::vector<size_t>{1});
  EXPECT_EQ(plan.regions[1].buffers, std::vector<size_t>{0});
  ASSERT_EQ(plan.apart.size(), 1u);
  EXPECT_EQ(plan.apart[0].buffer, 0u);
  EXPECT_EQ(plan.apart[0].other, 1u);
}

TEST(MemoryPlanner, BuffersThatLiveTogetherAreNotCalledIncomparable) {
  MemoryPlan plan =
      planMemory({{parse("64*rows"), 0, 1}, {parse("64*batch*seq"), 1, 2}});
  EXPECT_EQ(plan.regions.size(), 2u);
  EXPECT_TRUE(plan.apart.empty());
}

TEST(MemoryPlanner, ScoresOfThreeHeadsTakeNoMoreThanTheyHave) {
  // Scores and probabilities for three heads, and rows with 24 columns.
  MemoryPlan plan = planMemory({{parse("12*batch*seq*seq"), 0, 1},
                                {parse("12*batch*seq*seq"), 1, 2},
                                {parse("96*batch*seq"), 0, 2}});
  EXPECT_EQ(plan.bytes, parse("24*batch*seq*seq+128*batch*seq+128"));
  EXPECT_EQ(plan.offsets[2], Polynomial());
}

TEST(MemoryPlanner, SmallSizesAreRoundedUpIfThatTakesLess) {
  // Ids fit into a large buffer's memory if they are rounded up.
  MemoryPlan plan =
      planMemory({{parse("8*rows"), 0, 1}, {parse("3072*rows"), 2, 3}});
  EXPECT_EQ(plan.bytes, parse("3072*rows"));
}

TEST(MemoryPlanner, OneMebibyteOfRoundingIsAccepted) {
  // 63 bytes times batch * seq and one times rows * seq, at the nominal 128.
  MemoryPlan plan = planMemory({{parse("batch*seq+63*rows*seq"), 0, 1}});
  EXPECT_EQ(plan.bytes, parse("64*batch*seq+64*rows*seq"));
}

TEST(MemoryPlanner, RoundingIsKeptWhereRoomSavesNothing) {
  // Both small buffers fit next to each other into the large one, in both
  // orders.
  MemoryPlan plan = planMemory({{parse("1024*batch*seq*seq+128"), 0, 0},
                                {parse("12*batch*seq*seq"), 1, 1},
                                {parse("12*batch*seq*seq"), 1, 1}});
  EXPECT_EQ(plan.bytes, parse("1024*batch*seq*seq+128"));
  EXPECT_EQ(plan.offsets[2], parse("64*batch*seq*seq"));
}

TEST(MemoryPlanner, EqualSizesArePlacedInTheirOrder) {
  MemoryPlan plan =
      planMemory({{parse("64*rows"), 0, 1}, {parse("64*rows"), 0, 1}});
  EXPECT_EQ(plan.offsets[0], Polynomial());
  EXPECT_EQ(plan.offsets[1], parse("64*rows"));
}

TEST(MemoryPlanner, TheLowerBoundIsThatOfTheFirstBufferOfEquallyFullSteps) {
  EXPECT_EQ(planMemory({{parse("64*keys"), 1, 1}, {parse("64*rows"), 0, 0}})
                .lowerBound,
            parse("64*keys"));
  EXPECT_EQ(planMemory({{parse("64*keys"), 0, 0}, {parse("64*rows"), 1, 1}})
                .lowerBound,
            parse("64*keys"));
}

TEST(MemoryPlanner, TheLowerBoundCountsEqualSizesOneByOne) {
  // At step 1, one among the first two has ended. Where the empty one ends, no
  // buffer begins.
  MemoryPlan plan = planMemory({{parse("64*rows"), 0, 0},
                                {parse("64*rows"), 0, 5},
                                {parse("64*rows"), 1, 5},
                                {parse("64*rows"), 1, 5},
                                {Polynomial(), 0, 2}});
  EXPECT_EQ(plan.lowerBound, parse("192*rows"));
}

TEST(MemoryPlanner, RandomLifetimesOfOneFormWasteLittle) {
  double worst = 1, sum = 0;
  const int plans = 40;
  for (uint64_t seed = 0; seed < plans; ++seed) {
    Numbers numbers(seed);
    std::vector<BufferLifetime> buffers = randomBuffers(numbers, 40);
    for (BufferLifetime &buffer : buffers)
      buffer.bytes = Polynomial(64 * (1 + below(numbers, 100))) * parse("rows");
    MemoryPlan plan = planMemory(buffers);
    double ratio = double(plan.bytes.terms().begin()->second) /
                   double(plan.lowerBound.terms().begin()->second);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  RecordProperty("worst", std::to_string(worst));
  EXPECT_LE(worst, 1.35);
  EXPECT_LE(sum / plans, 1.12);
}

TEST(MemoryPlanner, BigPlansAreFast) {
  Numbers numbers(1);
  std::vector<BufferLifetime> buffers;
  for (int64_t i = 0; i < 2000; ++i) {
    int64_t first = below(numbers, 2000);
    buffers.push_back({randomSize(numbers), first, first + below(numbers, 12)});
  }
  double start = test::processorSeconds();
  MemoryPlan plan = planMemory(buffers);
  test::expectSeconds(test::processorSeconds() - start, 2);
  expectValid(buffers, plan, Values(numbers));
}

TEST(MemoryPlanner, TimeIsLinearInTheNumberOfBuffers) {
  // Phases with 64 operations: each buffer is read in its phase, a phase's last
  // buffer also in the next one. A quadratic planner would take hours.
  std::vector<BufferLifetime> buffers;
  for (int64_t i = 0; i < 100000; ++i)
    buffers.push_back({parse("3072*rows"), i / 64, (i + 1) / 64});
  MemoryPlan plan = planMemory(buffers);
  EXPECT_EQ(plan.bytes, plan.lowerBound);
  EXPECT_EQ(plan.bytes, Polynomial(65 * 3072) * parse("rows"));
}
