// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rope tables and rope on the heads in rows, against the definition as plain
// loops, bit by bit.
#include "test/passes/lower/RunPhase.h"
#include "test/support/Reference.h"
#include <cmath>

using namespace transom;
using namespace transom::test;

namespace {

std::string rows(int64_t columns, const std::string &type) {
  return "!kern.buffer<[rows, " + str(columns) + "] x " + type + ">";
}

constexpr int64_t kCoarse = 3; ///< rows for multiples of 256

struct RopeCase {
  std::string name;
  int64_t heads, width, pairs;
  bool interleaved, rounds;
};

std::string getModule(const RopeCase &r) {
  std::string angles = "!kern.weight<[" + str(kCoarse + 256) + ", " +
                       str(2 * r.pairs) + "] x f32, rows>",
              input = rows(r.heads * r.width, "f32"),
              out = rows(r.heads * r.width, r.rounds ? "bf16" : "f32"),
              table = rows(2 * r.pairs, "f32"),
              positions = "!kern.buffer<[rows] x i64>";
  std::string head = ") attributes {kern.symbols = [\"rows\"]} {\n";
  return "kern.weight @" + r.name + ".angles : " + angles +
         " = #weight.expr<file(\"w\")>\nfunc.func @" + r.name +
         ".table(%p: " + positions + ", %r: " + table + head +
         "  %a = kern.get_weight @" + r.name + ".angles : " + angles +
         "\n  kern.phase \"" + r.name +
         ".table\" {\n    kern.rope_table %p, %a outs(%r) : " + positions +
         ", " + angles + ", " + table + "\n  }\n  return\n}\nfunc.func @" +
         r.name + "(%x: " + input + ", %r: " + table + ", %y: " + out + head +
         "  kern.phase \"" + r.name +
         "\" {\n    kern.rope %x, %r outs(%y) heads " + str(r.heads) +
         (r.interleaved ? " {interleaved}" : "") + " : " + input + ", " +
         table + ", " + out + "\n  }\n  return\n}\n";
}

} // namespace

TEST(Rope, TablesAndHeads) {
  std::vector<RopeCase> list = {{"half", 3, 16, 8, false, false},
                                {"partial", 2, 20, 5, false, false},
                                {"wide", 2, 80, 40, false, true},
                                {"neighbours", 3, 16, 8, true, false},
                                {"odd", 2, 45, 19, true, true}};
  std::string text;
  for (const RopeCase &r : list)
    text += getModule(r);
  KernelHarness harness(text, "", 0);
  const std::vector<int64_t> where = {0, 1, 255, 256, 300, 767};
  int64_t count = where.size();
  for (const RopeCase &r : list) {
    std::vector<float> angles =
        Random(3).numbers((kCoarse + 256) * 2 * r.pairs);
    std::copy(angles.begin(), angles.end(), harness.weight(r.name + ".angles"));
    Guarded<int64_t> positions(where);
    Guarded<float> table(count * 2 * r.pairs);
    PhaseCall call;
    call.symbols = {{"rows", count}};
    call.args = {positions.data(), table.data()};
    std::vector<float> expectedTable(count * 2 * r.pairs);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < r.pairs; ++j) {
        auto angle = [&](int64_t row, int64_t column) {
          return angles[row * 2 * r.pairs + column];
        };
        int64_t a = where[i] / 256, b = kCoarse + where[i] % 256,
                s = j + r.pairs;
        expectedTable[i * 2 * r.pairs + j] =
            std::fma(angle(a, j), angle(b, j), -(angle(a, s) * angle(b, s)));
        expectedTable[i * 2 * r.pairs + s] =
            std::fma(angle(a, s), angle(b, j), angle(a, j) * angle(b, s));
      }
    runAll(harness, r.name + ".table", call, [&] {
      EXPECT_EQ(differentBits(table.data(), expectedTable.data(),
                              expectedTable.size()),
                "");
    });
    int64_t columns = r.heads * r.width;
    std::vector<float> input = Random(4).numbers(count * columns),
                       expected = input;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t h = 0; h < r.heads; ++h)
        for (int64_t j = 0; j < r.pairs; ++j) {
          int64_t first = i * columns + h * r.width;
          int64_t low = first + (r.interleaved ? 2 * j : j),
                  high = r.interleaved ? low + 1 : low + r.pairs;
          float c = expectedTable[i * 2 * r.pairs + j],
                s = expectedTable[i * 2 * r.pairs + r.pairs + j];
          expected[low] = std::fma(input[low], c, -(input[high] * s));
          expected[high] = std::fma(input[high], c, input[low] * s);
        }
    Guarded<float> x(input);
    Guarded<char> y(input.size() * (r.rounds ? 2 : 4));
    call.args = {x.data(), table.data(), y.data()};
    runAll(harness, r.name, call, [&] {
      int64_t wrong = 0;
      for (size_t i = 0; i < expected.size(); ++i)
        wrong += r.rounds
                     ? reinterpret_cast<uint16_t *>(y.data())[i] !=
                           roundToBf16(expected[i])
                     : reinterpret_cast<float *>(y.data())[i] != expected[i];
      EXPECT_EQ(wrong, 0);
      std::fill(y.begin(), y.end(), char(-7));
    });
  }
}
