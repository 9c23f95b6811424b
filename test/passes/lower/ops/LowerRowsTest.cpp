// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms, softmax, embeddings, elementwise regions and products between
// activations against plain loops, bit by bit.
#include "test/passes/lower/PhaseText.h"
#include "test/passes/lower/RunPhase.h"
#include "test/passes/lower/ops/Embeddings.h"
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace transom::test;

TEST(Rows, Norms) {
  std::string text;
  const std::vector<int64_t> widths = {1,  2,  5,  15, 16,  17,  31,
                                       32, 33, 48, 70, 384, 1024};
  for (int64_t width : widths)
    for (int stride : {0, 16})
      for (const char *kind : {"layer", "plain", "rms"}) {
        std::string name = kind + str(width) + "s" + str(stride),
                    type = bufferType("rows, " + str(width), "f32",
                                      stride ? ", stride " + str(width + stride)
                                             : "");
        std::string weight = "!kern.weight<[" + str(width) + "] x f32, rows>";
        bool beta = std::string(kind) == "layer",
             rms = std::string(kind) == "rms";
        text += weightDefinition(name + "g", weight) +
                (beta ? weightDefinition(name + "h", weight) : "");
        text += phaseFunction(
            {name, "%x: " + type + ", %y: " + type,
             weightValue("g", name + "g", weight) +
                 (beta ? weightValue("h", name + "h", weight) : ""),
             "kern.norm %x, %g" + std::string(beta ? ", %h" : "") +
                 " outs(%y) eps 1.0e-5" + (rms ? " {rms}" : "") + " : " + type +
                 ", " + weight + (beta ? ", " + weight : "") + ", " + type});
      }
  KernelHarness harness(text);
  Random random(1);
  const int64_t rows = 7;
  for (int64_t width : widths)
    for (int extra : {0, 16})
      for (const char *kind : {"layer", "plain", "rms"}) {
        std::string name = kind + str(width) + "s" + str(extra);
        bool beta = std::string(kind) == "layer",
             rms = std::string(kind) == "rms";
        int64_t stride = width + extra;
        float *gamma = harness.weight(name + "g"),
              *betas = beta ? harness.weight(name + "h") : nullptr;
        for (int64_t i = 0; i < width; ++i) {
          gamma[i] = random.number();
          if (betas)
            betas[i] = random.number();
        }
        Guarded<float> x(random.numbers(rows * stride)), y(rows * stride);
        runAll(harness, name, {{{"rows", rows}}, {x.data(), y.data()}, {}, 1},
               [&] {
                 for (int64_t r = 0; r < rows; ++r) {
                   std::vector<float> expected = referenceNorm(
                       &x[r * stride], width, gamma, betas, 1.0e-5f, rms);
                   EXPECT_EQ(
                       differentBits(&y[r * stride], expected.data(), width),
                       "")
                       << "row " << r;
                 }
               });
      }
}

TEST(Rows, Softmax) {
  KernelHarness harness(phaseFunction(
      {"softmax",
       "%x: " + bufferType("rows, n") + ", %y: " + bufferType("rows, n"), "",
       "kern.softmax %x outs(%y) : " + bufferType("rows, n") + ", " +
           bufferType("rows, n")}));
  Random random(2);
  const int64_t rows = 6;
  for (int64_t width : {1, 2, 15, 16, 17, 33, 100}) {
    Guarded<float> x(random.numbers(rows * width, 20)), y(rows * width);
    for (int64_t i = 0; i < width; ++i) {
      x[width + i] = -INFINITY;                       // row 1 gives zeros
      x[2 * width + i] = i % 2 ? -INFINITY : 1000.0f; // row 2 needs the shift
    }
    runAll(harness, "softmax",
           {{{"rows", rows}, {"n", width}}, {x.data(), y.data()}, {}, 1}, [&] {
             for (int64_t r = 0; r < rows; ++r)
               EXPECT_EQ(
                   differentBits(&y[r * width],
                                 referenceSoftmax(&x[r * width], width).data(),
                                 width),
                   "")
                   << "row " << r << " width " << width;
           });
  }
}

TEST(Rows, Summary) {
  const std::vector<int64_t> widths = {1, 16, 33, 63, 64, 65, 128, 1000};
  std::string text;
  for (int64_t width : widths) {
    std::string in = bufferType("rows, " + str(width)),
                out = bufferType("rows, " + str((width + 63) / 64));
    text += phaseFunction(
        {"summary" + str(width), "%x: " + in + ", %m: " + out + ", %s: " + out,
         "",
         "kern.row_summary %x outs(%m, %s) : " + in + ", " + out + ", " + out});
  }
  KernelHarness harness(text);
  Random random(4);
  const int64_t rows = 6;
  for (int64_t width : widths) {
    const int64_t groups = (width + 63) / 64;
    Guarded<float> x(random.numbers(rows * width, 20)), maxima(rows * groups),
        sums(rows * groups);
    for (int64_t i = 0; i < width; ++i) {
      x[width + i] = i % 3 ? -0.0f : 0.0f;
      x[2 * width + i] = i % 2 ? -1e38f : 1000.0f; // needs the shift
    }
    auto check = [&](bool hasSums) {
      for (int64_t r = 0; r < rows; ++r) {
        ReferenceRowSummary row = referenceRowSummary(&x[r * width], width);
        EXPECT_EQ(differentBits(&maxima[r * groups], row.maxima.data(), groups),
                  "")
            << "row " << r << " width " << width;
        if (hasSums)
          EXPECT_EQ(differentBits(&sums[r * groups], row.sums.data(), groups),
                    "")
              << "row " << r << " width " << width;
      }
    };
    runAll(harness, "summary" + str(width),
           {{{"rows", rows}}, {x.data(), maxima.data(), sums.data()}, {}, 1},
           [&] { check(true); });
    // Results without memory are not computed.
    runAll(harness, "summary" + str(width),
           {{{"rows", rows}}, {x.data(), maxima.data(), nullptr}, {}, 1},
           [&] { check(false); });
    runAll(harness, "summary" + str(width),
           {{{"rows", rows}}, {x.data(), nullptr, nullptr}, {}, 1}, [] {});
  }
}

// A value that is not finite affects its group's max alone.
TEST(Rows, SummaryOfNonFinite) {
  const int64_t width = 200, groups = 4;
  std::string in = bufferType("rows, " + str(width)),
              out = bufferType("rows, " + str(groups));
  KernelHarness harness(phaseFunction(
      {"summary", "%x: " + in + ", %m: " + out + ", %s: " + out, "",
       "kern.row_summary %x outs(%m, %s) : " + in + ", " + out + ", " + out}));
  Random random(5);
  for (float bad : {INFINITY, -INFINITY, std::nanf("")})
    for (int64_t at = 0; at < width; at += 7) {
      Guarded<float> x(random.numbers(width, 20)), maxima(groups), sums(groups);
      x[at] = bad;
      runAll(harness, "summary",
             {{{"rows", 1}}, {x.data(), maxima.data(), sums.data()}, {}, 1},
             [&] {
               for (int64_t group = 0; group < groups; ++group)
                 EXPECT_EQ(std::isnan(maxima[group]), group == at / 64)
                     << "column " << at << " group " << group;
             });
    }
}

TEST(Rows, Embeddings) {
  EmbeddingTables tables{"f32", 21, {}, {}, {}, {}};
  Random random(3);
  tables.first = random.numbers(kEmbeddingWords * tables.width);
  tables.second = random.numbers(kEmbeddingWords * tables.width);
  tables.rows = getBytes(tables.first);
  tables.panels =
      getBytes(packPanels(tables.second, tables.width, {kEmbeddingWords}));
  checkEmbeddings(tables);
}

TEST(Rows, BatchMatmul) {
  struct Case {
    std::string name, lhs, rhs, out;
  };
  // Leading dimensions broadcast; k may be a symbol.
  const std::vector<Case> cases = {
      {"plain", "rows, n", "n, seq", "rows, seq"},
      {"fixed", "rows, 19", "19, seq", "rows, seq"},
      {"batched", "batch, 2, rows, n", "batch, 2, n, seq",
       "batch, 2, rows, seq"},
      {"shared", "batch, 2, rows, n", "n, seq", "batch, 2, rows, seq"},
      {"left", "rows, n", "batch, 2, n, seq", "batch, 2, rows, seq"},
      {"middle", "batch, 1, rows, n", "1, 2, n, seq", "batch, 2, rows, seq"}};
  std::string text;
  for (const Case &c : cases)
    text += phaseFunction(
        {c.name,
         "%x: " + bufferType(c.lhs) + ", %w: " + bufferType(c.rhs) +
             ", %y: " + bufferType(c.out),
         "",
         "kern.batch_matmul %x, %w outs(%y) : " + bufferType(c.lhs) + ", " +
             bufferType(c.rhs) + ", " + bufferType(c.out)});
  KernelHarness harness(text);
  Random random(4);
  for (const Case &c : cases)
    for (auto [m, n, k] :
         std::vector<std::tuple<int64_t, int64_t, int64_t>>{{1, 1, 1},
                                                            {5, 7, 3},
                                                            {13, 33, 19},
                                                            {40, 70, 65},
                                                            {3, 16, 0},
                                                            {0, 3, 4},
                                                            {6, 32, 5}}) {
      if (c.name == "fixed" && k != 19)
        continue;
      const int64_t batch = 3;
      bool lhsBatch = c.lhs[0] == 'b',
           lhsHead = c.name == "batched" || c.name == "shared";
      bool rhsBatch = c.rhs[0] == 'b', rhsHead = c.name == "batched" ||
                                                 c.name == "left" ||
                                                 c.name == "middle";
      bool outer = c.out[0] == 'b';
      int64_t lhsCount = (lhsBatch ? batch : 1) * (lhsHead ? 2 : 1),
              rhsCount = (rhsBatch ? batch : 1) * (rhsHead ? 2 : 1),
              matrices = outer ? 2 * batch : 1;
      Guarded<float> x(random.numbers(lhsCount * m * k)),
          w(random.numbers(rhsCount * k * n)), y(matrices * m * n);
      PhaseCall call{{{"rows", m}, {"seq", n}, {"n", k}, {"batch", batch}},
                     {x.data(), w.data(), y.data()},
                     {},
                     1};
      SCOPED_TRACE("m " + str(m) + " n " + str(n) + " k " + str(k));
      runAll(harness, c.name, call, [&, m = m, n = n, k = k] {
        int64_t wrong = 0;
        for (int64_t matrix = 0; matrix < matrices; ++matrix) {
          int64_t b = matrix / 2, h = matrix % 2;
          const float *lhs =
              x.data() +
              ((lhsBatch ? b : 0) * (lhsHead ? 2 : 1) + (lhsHead ? h : 0)) * m *
                  k;
          const float *rhs =
              w.data() +
              ((rhsBatch ? b : 0) * (rhsHead ? 2 : 1) + (rhsHead ? h : 0)) * k *
                  n;
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              float sum = 0;
              for (int64_t l = 0; l < k; ++l)
                sum = std::fma(lhs[i * k + l], rhs[l * n + j], sum);
              wrong += y[(matrix * m + i) * n + j] != sum;
            }
        }
        EXPECT_EQ(wrong, 0);
      });
    }
}

TEST(Rows, ElementwiseBroadcasts) {
  std::string out = bufferType("a, b, n"), row = bufferType("b, n"),
              column = bufferType("a, b, 1"), scalar = bufferType("1"),
              outer = bufferType("a, 1, n");
  // The operand types and the regions.
  std::string weight = "!kern.weight<[21] x f32, rows>",
              fixed = bufferType("a, 21"), mask = bufferType("a, 21", "i1"),
              ints = bufferType("a, 21", "i64");
  std::string region =
      "^bb0(%d: f32, %e: f32, %f: f32, %g: f32, %h: f32):\n      %1 = "
      "arith.addf %d, %e : f32\n      %2 = arith.mulf %1, %f : f32\n"
      "      %3 = arith.subf %2, %g : f32\n      %4 = arith.addf %3, %h : "
      "f32\n      kern.yield %4 : f32\n    }";
  std::string compare = "^bb0(%p: f32, %q: f32):\n      %1 = arith.cmpf olt, "
                        "%p, %q : f32\n      kern.yield %1 : i1\n    }";
  std::string select =
      "^bb0(%p: i1, %q: f32):\n      %z = arith.constant -2.5 : f32\n      %1 "
      "= arith.select %p, %q, %z : f32\n      kern.yield %1 : f32\n    }";
  std::string divide = "^bb0(%p: i64, %q: i64):\n      %1 = arith.divsi %p, %q "
                       ": i64\n      kern.yield %1 : i64\n    }";
  // One phase for each region.
  KernelHarness harness(
      weightDefinition("w", weight) +
      phaseFunction(
          {"sum",
           "%x: " + out + ", %r: " + row + ", %c: " + column +
               ", %s: " + scalar + ", %o: " + outer + ", %y: " + out,
           "",
           "kern.elementwise ins(%x, %r, %c, %s, %o) outs(%y) {\n    " +
               region + " : (" + out + ", " + row + ", " + column + ", " +
               scalar + ", " + outer + ") -> " + out}) +
      phaseFunction({"compare", "%x: " + fixed + ", %y: " + mask,
                     weightValue("w", "w", weight),
                     "kern.elementwise ins(%x, %w) outs(%y) {\n    " + compare +
                         " : (" + fixed + ", " + weight + ") -> " + mask}) +
      phaseFunction({"select",
                     "%m: " + mask + ", %x: " + fixed + ", %y: " + fixed, "",
                     "kern.elementwise ins(%m, %x) outs(%y) {\n    " + select +
                         " : (" + mask + ", " + fixed + ") -> " + fixed}) +
      phaseFunction({"divide",
                     "%x: " + ints + ", %z: " + ints + ", %y: " + ints, "",
                     "kern.elementwise ins(%x, %z) outs(%y) {\n    " + divide +
                         " : (" + ints + ", " + ints + ") -> " + ints}));
  // Broadcasts along each axis, and empty buffers.
  Random random(5);
  for (auto [a, b, n] :
       std::vector<std::tuple<int64_t, int64_t, int64_t>>{{1, 1, 1},
                                                          {2, 3, 5},
                                                          {4, 1, 16},
                                                          {3, 2, 37},
                                                          {0, 2, 3},
                                                          {2, 2, 0}}) {
    Guarded<float> x(random.numbers(a * b * n)), r(random.numbers(b * n)),
        c(random.numbers(a * b)), s(random.numbers(1)),
        o(random.numbers(a * n)), y(a * b * n);
    SCOPED_TRACE(str(a) + " " + str(b) + " " + str(n));
    runAll(harness, "sum",
           {{{"a", a}, {"b", b}, {"n", n}},
            {x.data(), r.data(), c.data(), s.data(), o.data(), y.data()},
            {},
            1},
           [&, a = a, b = b, n = n] {
             for (int64_t i = 0; i < a * b * n; ++i) {
               volatile float product = (x[i] + r[i % (b * n)]) * c[i / n];
               EXPECT_EQ(y[i], (product - s[0]) + o[i / (b * n) * n + i % n])
                   << i;
             }
           });
  }
  // Comparisons with a weight, and selections by the result.
  const int64_t rows = 5, width = 21;
  Guarded<float> x(random.numbers(rows * width)), y(rows * width);
  Guarded<int8_t> mask8(rows * width);
  std::vector<float> bounds = random.numbers(width);
  std::copy(bounds.begin(), bounds.end(), harness.weight("w"));
  runAll(harness, "compare", {{{"a", rows}}, {x.data(), mask8.data()}, {}, 1},
         [&] {
           for (int64_t i = 0; i < rows * width; ++i)
             EXPECT_EQ(mask8[i], x[i] < bounds[i % width]) << i;
         });
  runAll(harness, "select",
         {{{"a", rows}}, {mask8.data(), x.data(), y.data()}, {}, 1}, [&] {
           for (int64_t i = 0; i < rows * width; ++i)
             EXPECT_EQ(y[i], mask8[i] ? x[i] : -2.5f) << i;
         });
  // Integer division, also by zero and with overflow.
  Guarded<int64_t> p(rows * width), q(rows * width), z(rows * width);
  for (int64_t i = 0; i < rows * width; ++i) {
    p[i] = random.below(2000) - 1000;
    q[i] = random.below(2) ? random.below(9) + 1 : -1 - random.below(9);
  }
  q[3] = 0; // the result is the dividend
  p[4] = INT64_MIN, q[4] = -1;
  runAll(harness, "divide",
         {{{"a", rows}}, {p.data(), q.data(), z.data()}, {}, 1}, [&] {
           for (int64_t i = 0; i < rows * width; ++i)
             EXPECT_EQ(z[i], i == 3 ? p[i] : i == 4 ? p[i] : p[i] / q[i]) << i;
         });
}
