// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bf16 operands besides GEMMs and attention: casts, norms, embeddings,
// elementwise regions, pools and key panels, bit by bit against plain loops
// that round to nearest even.
#include "test/passes/lower/PhaseText.h"
#include "test/passes/lower/RunPhase.h"
#include "test/passes/lower/ops/Embeddings.h"
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace transom::test;

static std::vector<uint16_t> rounded(const std::vector<float> &values) {
  std::vector<uint16_t> result;
  for (float value : values)
    result.push_back(roundToBf16(value));
  return result;
}

/// Values including ties, NaN, infinity and overflow; no denormals, which
/// instruction sets may flush.
static std::vector<float> awkward(Random &random, size_t count) {
  std::vector<float> values = random.numbers(count, 100);
  const uint32_t bits[] = {0x3F808000, 0x3F818000, 0xBF808001, 0x7FC00000,
                           0x7F800001, 0xFF800000, 0x7F7FFFFF, 0x80000000};
  for (size_t i = 0; i < count; i += 5)
    memcpy(&values[i], &bits[i / 5 % 8], 4);
  return values;
}

/// The number of elements that are not rounded correctly; a NaN may be any.
static int64_t countWrong(const uint16_t *got, const float *exact,
                          int64_t count) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; ++i)
    wrong += std::isnan(exact[i]) ? !std::isnan(widenBf16(got[i]))
                                  : got[i] != roundToBf16(exact[i]);
  return wrong;
}

TEST(Bf16, CastsRoundToNearestEven) {
  std::string text;
  for (int64_t width : {1, 15, 16, 37})
    text += phaseFunction(
        {"cast" + str(width),
         "%x: " + bufferType("rows, " + str(width)) + ", %y: " +
             bufferType("rows, " + str(width), "bf16",
                        ", stride " + str(width + 3)),
         "",
         "kern.cast %x outs(%y) : " + bufferType("rows, " + str(width)) + ", " +
             bufferType("rows, " + str(width), "bf16",
                        ", stride " + str(width + 3))});
  KernelHarness harness(text);
  Random random(1);
  const int64_t rows = 7;
  // Compare each row; the bf16 rows have a stride.
  for (int64_t width : {1, 15, 16, 37}) {
    Guarded<float> x(awkward(random, rows * width));
    Guarded<uint16_t> y(rows * (width + 3));
    runAll(
        harness, "cast" + str(width),
        {{{"rows", rows}}, {x.data(), y.data()}, {}, 1}, [&] {
          for (int64_t r = 0; r < rows; ++r)
            EXPECT_EQ(countWrong(&y[r * (width + 3)], &x[r * width], width), 0)
                << "row " << r << " width " << width;
        });
  }
}

TEST(Bf16, NormsWriteBoth) {
  const int64_t rows = 5, width = 45;
  std::string f32 = bufferType("rows, 45"),
              bf16 = bufferType("rows, 45", "bf16");
  std::string weight = "!kern.weight<[45] x f32, rows>";
  std::string values = weightValue("g", "g", weight);
  KernelHarness harness(
      weightDefinition("g", weight) +
      phaseFunction(
          {"both", "%x: " + f32 + ", %y: " + f32 + ", %z: " + bf16, values,
           "kern.norm %x, %g, %g outs(%y) copy(%z) eps 1.0e-5 : " + f32 + ", " +
               weight + ", " + weight + ", " + f32 + ", " + bf16}) +
      phaseFunction({"alone", "%x: " + f32 + ", %z: " + bf16, values,
                     "kern.norm %x, %g outs(%z) eps 1.0e-5 {rms} : " + f32 +
                         ", " + weight + ", " + bf16}));
  Random random(2);
  std::vector<float> gamma = random.numbers(width);
  std::copy(gamma.begin(), gamma.end(), harness.weight("g"));
  Guarded<float> x(random.numbers(rows * width)), y(rows * width);
  Guarded<uint16_t> z(rows * width);
  auto check = [&](bool both) {
    for (int64_t r = 0; r < rows; ++r) {
      std::vector<float> expected =
          referenceNorm(&x[r * width], width, gamma.data(),
                        both ? gamma.data() : nullptr, 1.0e-5f, !both);
      EXPECT_EQ(countWrong(&z[r * width], expected.data(), width), 0) << r;
      if (both)
        EXPECT_EQ(differentBits(&y[r * width], expected.data(), width), "")
            << r;
    }
  };
  // LayerNorm with both outputs, RMSNorm with bf16 alone.
  runAll(harness, "both",
         {{{"rows", rows}}, {x.data(), y.data(), z.data()}, {}, 1},
         [&] { check(true); });
  runAll(harness, "alone", {{{"rows", rows}}, {x.data(), z.data()}, {}, 1},
         [&] { check(false); });
}

TEST(Bf16, EmbeddingsReadRowsAndPanels) {
  EmbeddingTables tables{"bf16", 37, {}, {}, {}, {}};
  Random random(3);
  std::vector<float> second = random.numbers(kEmbeddingWords * tables.width);
  std::vector<uint16_t> first =
      rounded(random.numbers(kEmbeddingWords * tables.width));
  for (uint16_t half : first)
    tables.first.push_back(widenBf16(half));
  for (uint16_t half : rounded(second))
    tables.second.push_back(widenBf16(half));
  tables.rows = getBytes(first);
  tables.panels =
      getBytes(packBf16Panels(second, tables.width, {kEmbeddingWords}));
  checkEmbeddings(tables);
}

TEST(Bf16, ElementwiseConverts) {
  std::string x = bufferType("rows, 21", "bf16"), s = bufferType("1", "bf16");
  KernelHarness harness(phaseFunction(
      {"add", "%x: " + x + ", %s: " + s + ", %y: " + x, "",
       "kern.elementwise ins(%x, %s) outs(%y) {\n    ^bb0(%a: bf16, %b: bf16):"
       "\n      %c = arith.extf %a : bf16 to f32\n      %d = arith.extf %b : "
       "bf16 to f32\n      %e = arith.mulf %c, %d : f32\n      %f = "
       "arith.truncf %e : f32 to bf16\n      kern.yield %f : bf16\n    } : (" +
           x + ", " + s + ") -> " + x}));
  Random random(4);
  const int64_t rows = 4, count = rows * 21;
  Guarded<uint16_t> a(rounded(awkward(random, count))), b(rounded({0.7f})),
      y(count);
  std::vector<float> expected;
  for (uint16_t value : a)
    expected.push_back(widenBf16(value) * widenBf16(b[0]));
  runAll(harness, "add",
         {{{"rows", rows}}, {a.data(), b.data(), y.data()}, {}, 1},
         [&] { EXPECT_EQ(countWrong(y.data(), expected.data(), count), 0); });
}

TEST(Bf16, KeysArePackedInPairs) {
  std::string text;
  for (int64_t width : {2, 22, 64})
    for (const char *element : {"f32", "bf16"}) {
      std::string in = bufferType("rows, " + str(width), element),
                  out =
                      bufferType("keys, " + str(width), "bf16", ", key_panels");
      text += phaseFunction({element + str(width), "%x: " + in + ", %y: " + out,
                             raggedDefinition(),
                             "kern.pack_keys %x ragged %s outs(%y) : " + in +
                                 ", !kern.ragged<0>, " + out});
    }
  KernelHarness harness(text);
  Random random(5);
  RaggedTable s({std::vector<int>(40, 1), {1, 1, 0}, std::vector<int>(33, 1)},
                false);
  // Pairs of columns are adjacent in a key panel.
  for (int64_t width : {2, 22, 64}) {
    Guarded<float> x(awkward(random, s.rows() * width));
    Guarded<uint16_t> halves(rounded(x.copy())), y(s.keys() * width);
    auto check = [&] {
      for (int64_t r = 0; r < s.rows(); ++r)
        for (int64_t c = 0; c < width; ++c) {
          int64_t position = s.table().token_key[r];
          uint16_t got = y[position / 32 * width * 32 +
                           (c / 2 * 32 + position % 32) * 2 + c % 2];
          EXPECT_EQ(countWrong(&got, &x[r * width + c], 1), 0) << r << " " << c;
        }
    };
    PhaseCall call{{{"batch", s.batch()},
                    {"seq", s.table().columns},
                    {"rows", s.rows()},
                    {"keys", s.keys()}},
                   {x.data(), y.data()},
                   {s.table()},
                   1};
    runAll(harness, "f32" + str(width), call, check);
    call.args[0] = halves.data();
    runAll(harness, "bf16" + str(width), call, check);
  }
}

TEST(Bf16, PoolsRound) {
  std::string in = bufferType("rows, 37"), f32 = bufferType("batch, 37"),
              bf16 = bufferType("batch, 37", "bf16");
  auto pool = [&](const std::string &name, const std::string &out) {
    return phaseFunction({name, "%x: " + in + ", %y: " + out,
                          raggedDefinition(),
                          "kern.pool <mean> %x ragged %s outs(%y) : " + in +
                              ", !kern.ragged<0>, " + out});
  };
  KernelHarness harness(pool("exact", f32) + pool("rounded", bf16));
  Random random(6);
  RaggedTable s({std::vector<int>(40, 1), {1, 1, 0}, {0, 0}}, false);
  Guarded<float> x(random.numbers(s.rows() * 37)), exact(s.batch() * 37);
  Guarded<uint16_t> y(s.batch() * 37);
  PhaseCall call{{{"batch", s.batch()},
                  {"seq", s.table().columns},
                  {"rows", s.rows()},
                  {"keys", s.keys()}},
                 {x.data(), exact.data()},
                 {s.table()},
                 1};
  // The f32 result is rounded here.
  harness.run(harness.isas().front(), "exact", call);
  call.args[1] = y.data();
  runAll(harness, "rounded", call, [&] {
    EXPECT_EQ(countWrong(y.data(), exact.data(), s.batch() * 37), 0);
  });
}
