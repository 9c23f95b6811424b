// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row movements, pooling, transposition, slices, gathers and positions against
// plain loops, with every table and buffer between inaccessible pages.
#include "test/passes/lower/PhaseText.h"
#include "test/passes/lower/RunPhase.h"
#include "test/support/KernelHarness.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace transom::test;

/// Batches that the movements between rectangular and ragged rows must handle.
static std::vector<std::pair<std::vector<std::vector<int>>, bool>> batches() {
  std::vector<std::pair<std::vector<std::vector<int>>, bool>> list = {
      {{{1}}, false},
      {{{1, 1, 1}, {1, 0, 0}}, false},
      {{{0, 1, 0, 1}, {0, 0, 0, 0}, {1, 1, 0, 1}, {0, 0, 0, 0}}, false},
      {{{0, 1, 0, 1}, {0, 0, 0, 0}, {1, 1, 0, 1}, {0, 0, 0, 0}}, true},
      {{{0, 0}, {0, 0}}, false},
      {{{0, 0}}, true},
      {{}, false}};
  Random random(11);
  std::vector<std::vector<int>> wide(3, std::vector<int>(70));
  for (auto &row : wide)
    for (int &bit : row)
      bit = random.below(3) != 0;
  list.push_back({wide, true});
  return list;
}

static PhaseCall callOn(const RaggedTable &s, std::vector<void *> args) {
  return {{{"batch", s.batch()},
           {"seq", s.table().columns},
           {"rows", s.rows()},
           {"keys", s.keys()}},
          std::move(args),
          {s.table()},
          1};
}

TEST(Moves, GatherAndScatterRows) {
  std::string text;
  auto add = [&](const std::string &name, const std::string &inner,
                 const std::string &element, const std::string &more) {
    std::string wide = bufferType("batch, seq" + inner, element),
                ragged = bufferType("rows" + inner, element),
                padded = bufferType("rows" + inner, element, more);
    text += phaseFunction({"gather" + name, "%x: " + wide + ", %y: " + ragged,
                           raggedDefinition(),
                           "kern.gather_rows %x ragged %s outs(%y) : " + wide +
                               ", !kern.ragged<0>, " + ragged});
    text +=
        phaseFunction({"scatter" + name, "%x: " + padded + ", %y: " + wide,
                       raggedDefinition(),
                       "kern.scatter_rows %x ragged %s outs(%y) : " + padded +
                           ", !kern.ragged<0>, " + wide});
  };
  add("f", ", 37", "f32", ", stride 40");
  add("i", "", "i64", "");
  add("b", ", 3, 7", "i1", "");
  KernelHarness harness(text);
  Random random(6);
  // Gather random elements, then scatter them back.
  auto check = [&](const std::string &name, auto zero, int64_t inner,
                   int64_t stride, const std::vector<std::vector<int>> &mask,
                   bool keepFirst) {
    using T = decltype(zero);
    RaggedTable s(mask, keepFirst);
    int64_t columns = s.table().columns;
    Guarded<T> wide(s.batch() * columns * inner), ragged(s.rows() * inner),
        padded(s.rows() * stride), back(s.batch() * columns * inner);
    for (T &x : wide)
      x = T(random.below(100));
    runAll(harness, "gather" + name, callOn(s, {wide.data(), ragged.data()}),
           [&] {
             for (int64_t r = 0; r < s.rows(); ++r)
               for (int64_t c = 0; c < inner; ++c)
                 EXPECT_EQ(ragged[r * inner + c],
                           wide[(s.table().token_sequence[r] * columns +
                                 s.table().token_column[r]) *
                                    inner +
                                c]);
           });
    for (int64_t r = 0; r < s.rows(); ++r)
      for (int64_t c = 0; c < inner; ++c)
        padded[r * stride + c] = ragged[r * inner + c];
    std::fill(back.begin(), back.end(), T(77));
    runAll(harness, "scatter" + name, callOn(s, {padded.data(), back.data()}),
           [&] {
             for (int64_t i = 0; i < s.batch() * columns; ++i)
               for (int64_t c = 0; c < inner; ++c)
                 EXPECT_EQ(back[i * inner + c], mask[i / columns][i % columns]
                                                    ? wide[i * inner + c]
                                                    : T(0))
                     << i << " " << c;
           });
  };
  for (auto &[mask, keepFirst] : batches()) {
    SCOPED_TRACE("batch " + str(mask.size()) + " keep " + str(keepFirst));
    check("f", 0.0f, 37, 40, mask, keepFirst);
    check("i", int64_t(0), 1, 1, mask, keepFirst);
    check("b", int8_t(0), 21, 21, mask, keepFirst);
  }
}

TEST(Moves, Neighbors) {
  std::string text, in = bufferType("rows, 37", "f32", ", stride 40"),
                    mask = bufferType("rows", "i1");
  // A phase for each reach, with and without a mask.
  for (int64_t reach : {0, 1, 3})
    for (bool masked : {false, true}) {
      std::string out = bufferType("rows, " + str((2 * reach + 1) * 37));
      text += phaseFunction(
          {"reach" + str(reach) + (masked ? "m" : ""),
           "%x: " + in + ", %m: " + mask + ", %y: " + out, raggedDefinition(),
           std::string("kern.neighbors %x ragged %s") +
               (masked ? " mask %m" : "") + " outs(%y) reach " + str(reach) +
               " : " + in + ", !kern.ragged<0>" + (masked ? ", " + mask : "") +
               ", " + out});
    }
  KernelHarness harness(text);
  Random random(8);
  // Rows outside the sequence or hidden by the mask are zero.
  for (auto &[bits, keepFirst] : batches()) {
    RaggedTable s(bits, keepFirst);
    for (int64_t reach : {0, 1, 3})
      for (bool masked : {false, true}) {
        const int64_t all = (2 * reach + 1) * 37;
        Guarded<float> x(random.numbers(s.rows() * 40)), y(s.rows() * all);
        Guarded<int8_t> m(s.rows());
        for (int8_t &bit : m)
          bit = random.below(2);
        SCOPED_TRACE("batch " + str(s.batch()) + " keep " + str(keepFirst));
        runAll(harness, "reach" + str(reach) + (masked ? "m" : ""),
               callOn(s, {x.data(), m.data(), y.data()}), [&] {
                 const transom_ragged_batch &t = s.table();
                 for (int64_t r = 0; r < s.rows(); ++r) {
                   const transom_sequence &q = s.sequence(t.token_sequence[r]);
                   std::vector<float> expected(all);
                   for (int64_t o = q.first_token;
                        o < q.first_token + q.num_keys; ++o) {
                     const int64_t slot =
                         t.token_column[o] - t.token_column[r] + reach;
                     if (slot < 0 || slot > 2 * reach || (masked && !m[o]))
                       continue;
                     for (int64_t i = 0; i < 37; ++i)
                       expected[slot * 37 + i] = x[o * 40 + i];
                   }
                   for (int64_t i = 0; i < all; ++i)
                     ASSERT_EQ(y[r * all + i], expected[i]) << r << " " << i;
                 }
               });
      }
  }
}

static const char *const kPoolKinds[] = {
    "first", "last",      "mean",          "sum",
    "max",   "mean_sqrt", "weighted_mean", "first_key"};

namespace {
/// An element in a pooled row, and its token's column.
struct PooledNumber {
  float value;
  int64_t column;
};
} // namespace

/// The pooled result for a column, by kind, over the rows in order.
static float poolNumbers(const std::string &kind,
                         const std::vector<PooledNumber> &numbers) {
  float sum = 0, weights = 0, largest = -INFINITY;
  for (auto [value, column] : numbers) {
    float weight = kind == "weighted_mean" ? float(column + 1) : 1;
    sum = sum + value * weight;
    weights += weight;
    largest = std::max(largest, value);
  }
  if (numbers.empty())
    return 0;
  if (kind == "max")
    return largest;
  if (kind == "sum" || kind.find("mean") == std::string::npos)
    return sum;
  return sum / (kind == "mean_sqrt" ? std::sqrt(weights) : weights);
}

TEST(Moves, Pooling) {
  std::string text, in = bufferType("rows, 37"),
                    strided = bufferType("rows, 37", "f32", ", stride 48"),
                    out = bufferType("batch, 37"),
                    mask = bufferType("rows", "i1");
  // A phase for each kind, with and without a mask.
  for (const char *kind : kPoolKinds)
    for (bool masked : {false, true})
      text += phaseFunction(
          {kind + std::string(masked ? "m" : ""),
           "%x: " + (masked ? strided : in) + ", %m: " + mask + ", %y: " + out,
           raggedDefinition(),
           std::string("kern.pool <") + kind + "> %x ragged %s" +
               (masked ? " mask %m" : "") +
               " outs(%y) : " + (masked ? strided : in) + ", !kern.ragged<0>" +
               (masked ? ", " + mask : "") + ", " + out});
  KernelHarness harness(text);
  Random random(7);
  // Select the rows by kind, then pool each column.
  for (auto &[bits, keepFirst] : batches()) {
    RaggedTable s(bits, keepFirst);
    for (const char *kind : kPoolKinds)
      for (bool masked : {false, true}) {
        int64_t stride = masked ? 48 : 37;
        Guarded<float> x(random.numbers(s.rows() * stride)), y(s.batch() * 37);
        Guarded<int8_t> m(s.rows());
        for (int8_t &bit : m)
          bit = random.below(2);
        SCOPED_TRACE("batch " + str(s.batch()) + " keep " + str(keepFirst));
        runAll(harness, kind + std::string(masked ? "m" : ""),
               callOn(s, {x.data(), m.data(), y.data()}), [&] {
                 for (int64_t b = 0; b < s.batch(); ++b) {
                   const transom_sequence &q = s.sequence(b);
                   std::vector<int64_t> rows;
                   for (int64_t r = q.first_token;
                        r < q.first_token + q.num_keys; ++r)
                     if (!masked || m[r])
                       rows.push_back(r);
                   if (std::string(kind) == "last" && rows.size() > 1)
                     rows = {rows.back()};
                   if (std::string(kind) == "first_key" && rows.size() > 1)
                     rows = {rows.front()};
                   if (std::string(kind) == "first")
                     rows = q.column0_token < 0
                                ? std::vector<int64_t>()
                                : std::vector<int64_t>{q.column0_token};
                   for (int64_t c = 0; c < 37; ++c) {
                     std::vector<PooledNumber> numbers;
                     for (int64_t r : rows)
                       numbers.push_back(
                           {x[r * stride + c], s.table().token_column[r]});
                     EXPECT_EQ(y[b * 37 + c], poolNumbers(kind, numbers))
                         << b << " " << c;
                   }
                 }
               });
      }
  }
}

TEST(Moves, PackKeysAndColumns) {
  std::string in = bufferType("rows, 21", "f32", ", stride 24"),
              out = bufferType("keys, 21", "f32", ", key_panels"),
              columns = bufferType("rows", "i64");
  KernelHarness harness(
      phaseFunction({"pack", "%x: " + in + ", %y: " + out, raggedDefinition(),
                     "kern.pack_keys %x ragged %s outs(%y) : " + in +
                         ", !kern.ragged<0>, " + out}) +
      phaseFunction(
          {"columns", "%y: " + columns, raggedDefinition(),
           "kern.columns %s outs(%y) : !kern.ragged<0>, " + columns}));
  Random random(8);
  // Keys are in panels with 32 positions; columns are in row order.
  for (auto &[bits, keepFirst] : batches()) {
    RaggedTable s(bits, keepFirst);
    Guarded<float> x(random.numbers(s.rows() * 24)), y(s.keys() * 21);
    runAll(harness, "pack", callOn(s, {x.data(), y.data()}), [&] {
      for (int64_t r = 0; r < s.rows(); ++r)
        for (int64_t c = 0; c < 21; ++c) {
          int64_t position = s.table().token_key[r];
          EXPECT_EQ(y[(position / 32 * 21 + c) * 32 + position % 32],
                    x[r * 24 + c])
              << r << " " << c;
        }
    });
    Guarded<int64_t> z(s.rows());
    runAll(harness, "columns", callOn(s, {z.data()}), [&] {
      for (int64_t r = 0; r < s.rows(); ++r)
        EXPECT_EQ(z[r], s.table().token_column[r]);
    });
  }
}

TEST(Moves, Positions) {
  std::string type = bufferType("batch, seq", "i64");
  KernelHarness harness(phaseFunction(
      {"rank", "%x: " + type + ", %y: " + type, "",
       "kern.positions %x outs(%y) pad 1 : " + type + ", " + type}));
  Random random(9);
  for (int64_t seq : {0, 1, 7}) {
    Guarded<int64_t> x(3 * seq), y(3 * seq);
    for (int64_t &id : x)
      id = random.below(3);
    runAll(harness, "rank",
           {{{"batch", 3}, {"seq", seq}}, {x.data(), y.data()}, {}, 1}, [&] {
             for (int64_t b = 0; b < 3; ++b) {
               int64_t rank = 1;
               for (int64_t c = 0; c < seq; ++c) {
                 rank += x[b * seq + c] != 1;
                 EXPECT_EQ(y[b * seq + c], x[b * seq + c] != 1 ? rank : 1);
               }
             }
           });
  }
}

TEST(Moves, TransposeCopyAndGather) {
  std::string in = bufferType("a, b, n"), turned = bufferType("n, a, b"),
              swapped = bufferType("b, a, n"),
              ints = bufferType("a, b, n", "i64");
  std::string sliceType = bufferType("a, 2, n"),
              whole = bufferType("a, 2*b, n"), last = bufferType("a, b, 3"),
              indices = bufferType("seq, 2", "i64"),
              gathered = bufferType("seq, 2, b, n"),
              strided = bufferType("a, 5", "f32", ", stride 8"),
              narrow = bufferType("a, 3");
  KernelHarness harness(
      phaseFunction(
          {"turn", "%x: " + in + ", %y: " + turned, "",
           "kern.transpose %x outs(%y) [2, 0, 1] : " + in + ", " + turned}) +
      phaseFunction(
          {"swap", "%x: " + in + ", %y: " + swapped, "",
           "kern.transpose %x outs(%y) [1, 0, 2] : " + in + ", " + swapped}) +
      phaseFunction(
          {"slice", "%x: " + in + ", %y: " + sliceType, "",
           "kern.copy %x outs(%y) axis 1 from \"1\" to \"0\" size \"2\" : " +
               in + ", " + sliceType}) +
      phaseFunction(
          {"concat", "%x: " + in + ", %y: " + whole, "",
           "kern.copy %x outs(%y) axis 1 from \"0\" to \"b\" size \"b\" : " +
               in + ", " + whole}) +
      phaseFunction(
          {"tail", "%x: " + in + ", %y: " + last, "",
           "kern.copy %x outs(%y) axis 2 from \"2\" to \"0\" size \"3\" : " +
               in + ", " + last}) +
      phaseFunction(
          {"strided", "%x: " + strided + ", %y: " + narrow, "",
           "kern.copy %x outs(%y) axis 1 from \"2\" to \"0\" size \"3\" : " +
               strided + ", " + narrow}) +
      phaseFunction({"pick",
                     "%x: " + in + ", %i: " + indices + ", %y: " + gathered, "",
                     "kern.gather %x, %i outs(%y) : " + in + ", " + indices +
                         ", " + gathered}));
  Random random(10);
  for (auto [a, b, n] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
           {1, 3, 5}, {4, 3, 33}, {2, 17, 16}}) {
    Guarded<float> x(random.numbers(a * b * n)), y(a * b * n), part(a * 2 * n),
        whole2(a * 2 * b * n), tail(a * b * 3), wide(random.numbers(a * 8)),
        three(a * 3);
    std::map<std::string, int64_t> symbols = {
        {"a", a}, {"b", b}, {"n", n}, {"seq", 6}};
    auto at = [&, b = b, n = n](int64_t i, int64_t j, int64_t l) {
      return x[(i * b + j) * n + l];
    };
    auto each =
        [a = a, b = b,
         n = n](const std::function<void(int64_t, int64_t, int64_t)> &body) {
          for (int64_t i = 0; i < a; ++i)
            for (int64_t j = 0; j < b; ++j)
              for (int64_t l = 0; l < n; ++l)
                body(i, j, l);
        };
    runAll(harness, "turn", {symbols, {x.data(), y.data()}, {}, 1},
           [&, a = a, b = b] {
             each([&](int64_t i, int64_t j, int64_t l) {
               EXPECT_EQ(y[(l * a + i) * b + j], at(i, j, l));
             });
           });
    runAll(harness, "swap", {symbols, {x.data(), y.data()}, {}, 1},
           [&, a = a, n = n] {
             each([&](int64_t i, int64_t j, int64_t l) {
               EXPECT_EQ(y[(j * a + i) * n + l], at(i, j, l));
             });
           });
    runAll(harness, "slice", {symbols, {x.data(), part.data()}, {}, 1},
           [&, n = n] {
             each([&](int64_t i, int64_t j, int64_t l) {
               if (j >= 1 && j < 3)
                 EXPECT_EQ(part[(i * 2 + j - 1) * n + l], at(i, j, l));
             });
           });
    std::fill(whole2.begin(), whole2.end(), -7.0f);
    runAll(harness, "concat", {symbols, {x.data(), whole2.data()}, {}, 1},
           [&, b = b, n = n] {
             each([&](int64_t i, int64_t j, int64_t l) {
               EXPECT_EQ(whole2[(i * 2 * b + b + j) * n + l], at(i, j, l));
               EXPECT_EQ(whole2[(i * 2 * b + j) * n + l], -7.0f);
             });
           });
    runAll(harness, "tail", {symbols, {x.data(), tail.data()}, {}, 1},
           [&, b = b] {
             each([&](int64_t i, int64_t j, int64_t l) {
               if (l >= 2 && l < 5)
                 EXPECT_EQ(tail[(i * b + j) * 3 + l - 2], at(i, j, l));
             });
           });
    runAll(harness, "strided", {symbols, {wide.data(), three.data()}, {}, 1},
           [&, a = a] {
             for (int64_t i = 0; i < a * 3; ++i)
               EXPECT_EQ(three[i], wide[i / 3 * 8 + 2 + i % 3]);
           });
    Guarded<int64_t> indices8(12);
    for (int64_t &index : indices8)
      index = random.below(a);
    Guarded<float> picked(12 * b * n);
    runAll(harness, "pick",
           {symbols, {x.data(), indices8.data(), picked.data()}, {}, 1},
           [&, b = b, n = n] {
             for (int64_t i = 0; i < 12 * b * n; ++i)
               EXPECT_EQ(picked[i],
                         x[indices8[i / (b * n)] * b * n + i % (b * n)]);
           });
  }
}
