// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How phases divide their work: each worker runs alone, its written results are
// counted, and work is computed from the counts, not from time. Exactly one
// worker writes each result, and no worker has much more work than the others,
// also with one long sequence among many short ones.
#include "runtime/abi/Layout.h"
#include "test/passes/lower/PhaseText.h"
#include "test/support/KernelHarness.h"
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

using namespace transom;
using namespace transom::test;

namespace {

constexpr uint32_t kUntouched = 0x7fc0babe; // a NaN that nothing computes

bool isTouched(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits != kUntouched;
}

std::vector<float> untouched(size_t count) {
  float value;
  std::memcpy(&value, &kUntouched, sizeof value);
  return std::vector<float>(count, value);
}

/// Runs each worker alone and counts how often each element was written;
/// returns each worker's work, where `workOf` is the cost per element.
template <typename WorkOf>
std::vector<double>
getWorkOfWorkers(KernelHarness &harness, const std::string &isa,
                 const std::string &phase, PhaseCall call, size_t outArg,
                 size_t elements, WorkOf getWork) {
  std::vector<double> work;
  std::vector<int> writes(elements);
  for (int64_t worker = 0; worker < call.numWorkers; ++worker) {
    std::vector<float> out = untouched(elements);
    call.args[outArg] = out.data();
    PreparedPhase prepared = harness.prepare(isa, phase, call);
    prepared.function(&prepared.frame, nullptr, worker, call.numWorkers);
    work.push_back(0);
    for (size_t i = 0; i < elements; ++i)
      if (isTouched(out[i])) {
        ++writes[i];
        work.back() += getWork(i);
      }
  }
  EXPECT_TRUE(
      std::all_of(writes.begin(), writes.end(), [](int n) { return n == 1; }));
  return work;
}

/// The max share relative to the mean, without `grain` (indivisible work).
double imbalance(const std::vector<double> &work, double grain) {
  double mean =
      std::accumulate(work.begin(), work.end(), 0.0) / double(work.size());
  return (*std::max_element(work.begin(), work.end()) - grain) / mean;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

constexpr int64_t kHeads = 12, kWidth = 32; // MiniLM's size
constexpr int64_t kScratch = 1 << 16;       // floats a worker, plenty

std::string attentionText() {
  auto buffer = [](const char *rows, int64_t columns, const char *more = "") {
    return bufferType(std::string(rows) + ", " + std::to_string(columns), "f32",
                      more);
  };
  std::string query = buffer("rows", kHeads * kWidth),
              key = buffer("keys", kHeads * kWidth, ", key_panels"),
              scratch = buffer("parts", kScratch);
  return "func.func @attention(%q: " + query + ", %k: " + key +
         ", %v: " + query + ", %t: " + scratch + ", %y: " + query +
         ") attributes {kern.symbols = [\"batch\", \"keys\", \"parts\", "
         "\"rows\", \"seq\"]} {\n" +
         raggedDefinition() +
         "  kern.phase \"attention\" {\n    kern.attention %q, %k, %v "
         "ragged %s, %s scratch %t outs(%y) heads 12 kv_heads 12 scale "
         "0.25 {} : " +
         query + ", " + key + ", " + query +
         ", !kern.ragged<0>, !kern.ragged<0>, " + scratch + ", " + query +
         "\n  }\n  return\n}\n";
}

/// The real tokens before each of these sequences.
RaggedTable makeTable(const std::vector<int64_t> &lengths) {
  int64_t columns = *std::max_element(lengths.begin(), lengths.end());
  std::vector<std::vector<int>> mask;
  for (int64_t length : lengths) {
    mask.emplace_back(columns, 0);
    std::fill_n(mask.back().begin(), length, 1);
  }
  return RaggedTable(mask);
}

/// The cost per row in one head for a sequence with this token count: its keys
/// in whole panels, and its worker's fixed cost for a block with up to 24 rows,
/// as measured.
double costOfRow(int64_t tokens) {
  return double((tokens + 31) / 32 * 32) +
         256.0 / double(std::min<int64_t>(tokens, 24));
}

void checkAttention(KernelHarness &harness,
                    const std::vector<int64_t> &lengths) {
  RaggedTable table = makeTable(lengths);
  Random random(lengths.size());
  const size_t row = size_t(kHeads * kWidth);
  std::vector<float> query = random.numbers(size_t(table.rows()) * row),
                     key = random.numbers(size_t(table.keys()) * row);
  // The cost for each row.
  std::vector<double> costs;
  for (int64_t length : lengths)
    costs.insert(costs.end(), size_t(length),
                 costOfRow(length) / double(kWidth));
  int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  // Each worker's share must be close to the mean.
  for (int64_t numWorkers : {1, 2, 3, 4, 8}) {
    std::vector<float> scratch(size_t(numWorkers * kScratch));
    PhaseCall call;
    call.symbols = {{"batch", table.batch()},
                    {"keys", table.keys()},
                    {"parts", numWorkers},
                    {"rows", table.rows()},
                    {"seq", table.table().columns}};
    call.args = {query.data(), key.data(), query.data(), scratch.data(),
                 nullptr};
    call.ragged = {table.table()};
    call.numWorkers = numWorkers;
    for (const std::string &isa : harness.isas()) {
      std::vector<double> work =
          getWorkOfWorkers(harness, isa, "attention", call, 4, query.size(),
                           [&](size_t i) { return costs[i / row]; });
      EXPECT_LE(imbalance(work, 24 * costOfRow(longest)), 1.15)
          << lengths.size() << " sequences, the longest " << longest << ", "
          << numWorkers << " workers, " << isa;
    }
  }
}

//===----------------------------------------------------------------------===//
// GEMMs
//===----------------------------------------------------------------------===//

std::string gemmText(const std::string &name, int64_t n, int64_t k) {
  std::string input = bufferType("rows, " + std::to_string(k)),
              out = bufferType("rows, " + std::to_string(n)),
              weight = "!kern.weight<[" + std::to_string(n) + ", " +
                       std::to_string(k) + "] x f32, panels32>";
  return weightDefinition("w" + name, weight) +
         phaseFunction({name, "%x: " + input + ", %y: " + out,
                        weightValue("w", "w" + name, weight),
                        "kern.gemm %x, %w outs(%y) : " + input + ", " + weight +
                            ", " + out});
}

} // namespace

TEST(Balance, attention_of_mixed_lengths) {
  KernelHarness harness(attentionText());
  std::vector<int64_t> wild(255, 4), random;
  wild.insert(wild.begin() + 100, 512);
  Random numbers(7);
  for (int i = 0; i < 64; ++i)
    random.push_back(1 + numbers.below(128));
  checkAttention(harness, wild);
  checkAttention(harness, random);
  checkAttention(harness, {512});
  checkAttention(harness, {300, 1, 1, 1, 290, 1, 17});
  checkAttention(harness, std::vector<int64_t>(16, 9));
}

TEST(Balance, products_of_any_rows) {
  constexpr int64_t k = 24;
  KernelHarness harness(gemmText("narrow", 384, k) + gemmText("wide", 1536, k));
  for (auto [name, n] : {std::pair("narrow", 384), std::pair("wide", 1536)})
    for (int64_t rows : {1, 9, 16, 61, 128, 1532})
      for (int64_t numWorkers : {1, 2, 3, 4, 8})
        for (const std::string &isa : harness.isas()) {
          std::vector<float> input(size_t(rows * k));
          PhaseCall call;
          call.symbols = {{"rows", rows}};
          call.args = {input.data(), nullptr};
          call.numWorkers = numWorkers;
          std::vector<double> work =
              getWorkOfWorkers(harness, isa, name, call, 1, size_t(rows * n),
                               [](size_t) { return 1.0; });
          double grain = double(std::min<int64_t>(rows, 14) * 64);
          EXPECT_LE(imbalance(work, grain), 1.15)
              << name << ", " << rows << " rows, " << numWorkers << " workers, "
              << isa;
        }
}

/// With counters a worker takes the work that others have not begun.
TEST(Balance, workers_take_tiles_of_others) {
  constexpr int64_t k = 24, n = 384, numWorkers = 3, rows = 64 * numWorkers + 5;
  KernelHarness harness(gemmText("product", n, k));
  Random random(3);
  std::vector<float> input = random.numbers(size_t(rows * k));
  float *weight = harness.weight("wproduct");
  for (size_t i = 0; i < harness.weightBytes("wproduct") / 4; ++i)
    weight[i] = random.number();
  PhaseCall call;
  call.symbols = {{"rows", rows}};
  call.numWorkers = numWorkers;
  auto run = [&](const std::string &isa, std::vector<float> &out,
                 std::vector<int64_t> &counters, auto runWorkers) {
    out = untouched(size_t(rows * n));
    call.args = {input.data(), out.data()};
    PreparedPhase prepared = harness.prepare(isa, "product", call);
    prepared.frame.counters = counters.data();
    runWorkers([&](int64_t worker) {
      prepared.function(&prepared.frame, nullptr, worker, numWorkers);
    });
  };
  for (const std::string &isa : harness.isas()) {
    std::vector<int64_t> counters(productCounters);
    std::vector<float> expected, out;
    run(isa, expected, counters, [&](auto work) {
      work(1);
      EXPECT_TRUE(std::all_of(expected.begin(), expected.end(), isTouched))
          << isa;
      EXPECT_NE(counters, std::vector<int64_t>(productCounters));
      for (int64_t worker : {2, 0})
        work(worker);
    });
    EXPECT_EQ(counters, std::vector<int64_t>(productCounters));
    for (int i = 0; i < 50; ++i) {
      run(isa, out, counters, [&](auto work) {
        std::vector<std::thread> threads;
        for (int64_t worker = 0; worker < numWorkers; ++worker)
          threads.emplace_back(work, worker);
        for (std::thread &thread : threads)
          thread.join();
      });
      EXPECT_EQ(std::memcmp(out.data(), expected.data(), 4 * out.size()), 0)
          << isa;
      EXPECT_EQ(counters, std::vector<int64_t>(productCounters));
    }
  }
}

/// Two GEMMs in a phase would use the same counters.
TEST(Balance, products_of_one_phase_have_fixed_shares) {
  constexpr int64_t k = 24, n = 64, numWorkers = 2, rows = 200;
  const std::string x = bufferType("rows, 24"), y = bufferType("rows, 64"),
                    weight = "!kern.weight<[64, 24] x f32, panels32>",
                    types = " : " + x + ", " + weight + ", " + y;
  KernelHarness harness(
      weightDefinition("w", weight) +
      phaseFunction({"two", "%x: " + x + ", %y: " + y + ", %z: " + y,
                     weightValue("w", "w", weight),
                     "kern.gemm %x, %w outs(%y)" + types +
                         "\n    kern.gemm %x, %w outs(%z)" + types}));
  std::vector<float> input(size_t(rows * k));
  for (const std::string &isa : harness.isas()) {
    std::vector<float> first = untouched(size_t(rows * n)), second = first;
    PhaseCall call;
    call.symbols = {{"rows", rows}};
    call.args = {input.data(), first.data(), second.data()};
    call.numWorkers = numWorkers;
    harness.run(isa, "two", call);
    for (const std::vector<float> &out : {first, second})
      EXPECT_TRUE(std::all_of(out.begin(), out.end(), isTouched)) << isa;
  }
}
