// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs, norms and attention that write quantized values directly: bit by bit
// the same as plain loops on the f32 result, on each instruction set.
#include "runtime/base/OperandFormat.h"
#include "test/passes/lower/PhaseText.h"
#include "test/passes/lower/RunPhase.h"
#include "test/passes/lower/ops/QuantizedGroup.h"
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace transom;
using namespace transom::test;

namespace {

int64_t divideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// An operation once with an f32 result, once with a quantized result.
struct Result {
  std::string name;
  int64_t width, group;

  std::string f32() const { return bufferType("rows, " + str(width)); }
  std::string i8() const { return bufferType("rows, " + str(width), "i8"); }
  std::string scales() const {
    return bufferType("rows, " + str(2 * divideUp(width, group)));
  }
};

/// Compares quantized values with those from the f32 rows.
void check(const Result &r, const float *x, const int8_t *numbers,
           const float *scales, int64_t rows) {
  const int64_t numGroups = divideUp(r.width, r.group);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t g = 0; g < numGroups; ++g) {
      const int64_t begin = row * r.width + g * r.group,
                    count = std::min(r.group, r.width - g * r.group);
      const QuantizedGroup expected = quantize(x + begin, count);
      const float *pair = scales + (row * numGroups + g) * 2;
      if (!isSame(pair[0], expected.scale) || !isSame(pair[1], expected.sum) ||
          std::memcmp(numbers + begin, expected.numbers.data(),
                      static_cast<size_t>(count)) != 0) {
        ADD_FAILURE() << r.name << ": row " << row << " of " << rows
                      << ", group " << g << ": scale " << pair[0]
                      << " in place of " << expected.scale << ", sum "
                      << pair[1] << " in place of " << expected.sum;
        return;
      }
    }
}

//===----------------------------------------------------------------------===//
// GEMMs
//===----------------------------------------------------------------------===//

struct Product : Result {
  int64_t k;
  std::string epilogue;
  bool residual = false, whole = false; ///< the operands are quantized
  int64_t weightRows() const {
    return epilogue.find("glu") == std::string::npos ? width : 2 * width;
  }

  std::string getText() const {
    const std::string
        input = bufferType("rows, " + str(k), whole ? "i8" : "f32"),
        inputScales = bufferType("rows, " + str(2 * divideUp(k, 64))),
        weight = "!kern.weight<[" + str(weightRows()) + ", " + str(k) + "] x " +
                 (whole ? "#kern.format<i8, group 64, scales f32, interleave 4>"
                        : "f32") +
                 ", panels32>",
        bias = "!kern.weight<[" + str(weightRows()) + "] x f32, padded32>";
    const std::string values = weightValue("w", name + "w", weight) +
                               weightValue("b", name + "b", bias);
    // A phase's optional operands precede its outputs.
    auto getPhase = [&](bool isFused) {
      std::string args = "%x: " + input, op = "kern.gemm %x, %w",
                  types = input + ", " + weight;
      if (whole) {
        args += ", %t: " + inputScales;
        op += " scales %t";
        types += ", " + inputScales;
      }
      op += " bias %b";
      types += ", " + bias;
      if (residual) {
        args += ", %r: " + f32();
        op += " residual %r";
        types += ", " + f32();
      }
      if (isFused)
        types += ", " + scales();
      args += ", %y: " + (isFused ? i8() + ", %s: " + scales() : f32());
      op += isFused ? " outs(%y) out_scales(%s) " : " outs(%y) ";
      return phaseFunction(
          {name + (isFused ? "fused" : "plain"), args, values,
           op + epilogue + " : " + types + ", " + (isFused ? i8() : f32())});
    };
    return weightDefinition(name + "w", weight) +
           weightDefinition(name + "b", bias) + getPhase(false) +
           getPhase(true);
  }
};

void checkProduct(KernelHarness &harness, const Product &p, int64_t rows) {
  Random random(rows * 31 + p.k);
  std::vector<float> numbers = random.numbers(rows * p.k, 1);
  if (rows > 2) {
    numbers[p.k] = INFINITY;
    std::fill_n(numbers.begin() + 2 * p.k, p.k, 0.0f);
  }
  std::vector<int8_t> bytes(rows * p.k);
  for (int8_t &byte : bytes)
    byte = static_cast<int8_t>(random.below(255) - 127);
  std::vector<float> pairs; // scales, and sums per group
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t first = 0; first < p.k; first += 64) {
      const auto begin = bytes.begin() + row * p.k + first;
      pairs.push_back(random.numbers(1, 0.1)[0]);
      pairs.push_back(static_cast<float>(std::accumulate(
          begin, begin + std::min<int64_t>(64, p.k - first), 0)));
    }
  Guarded<float> x(numbers), inputScales(pairs),
      residual(random.numbers(rows * p.width)), y(rows * p.width),
      scales(rows * 2 * divideUp(p.width, p.group));
  Guarded<int8_t> whole(bytes), quantized(rows * p.width);
  PhaseCall call{{{"rows", rows}}, {}, {}, 1};
  if (p.whole)
    call.args = {whole.data(), inputScales.data()};
  else
    call.args = {x.data()};
  if (p.residual)
    call.args.push_back(residual.data());
  PhaseCall fused = call;
  call.args.push_back(y.data());
  fused.args.push_back(quantized.data());
  fused.args.push_back(scales.data());
  // The f32 bits are specific to each instruction set.
  harness.run(harness.isas().front(), p.name + "plain", call);
  runAll(harness, p.name + "fused", fused,
         [&] { check(p, y.data(), quantized.data(), scales.data(), rows); });
}

TEST(ColumnGroups, ProductsQuantizeTheirResult) {
  const std::vector<Product> products = {
      {{"one", 4, 32}, 8, ""},
      {{"narrow", 64, 32}, 16, "epilogue <gelu>"},
      {{"middle", 132, 64}, 24, "", true},
      {{"wide", 384, 128}, 16, "epilogue <relu>"},
      {{"rest", 300, 128}, 12, "", true},
      {{"blocks", 160, 128}, 5000, ""}, // several blocks of K
      {{"gate", 208, 128}, 16, "epilogue <glu silu>"},
      {{"gate_narrow", 48, 32}, 16, "epilogue <glu gelu>"},
      {{"whole", 160, 128}, 128, "epilogue <gelu>", false, true},
      {{"whole_gate", 256, 64}, 192, "epilogue <glu silu>", false, true}};
  std::string text;
  for (const Product &p : products)
    text += p.getText();
  KernelHarness harness(text);
  for (const Product &p : products) {
    Random random(p.width * 3 + p.k);
    for (const char *suffix : {"w", "b"}) {
      const size_t count = harness.weightBytes(p.name + suffix) / 4;
      const std::vector<float> numbers =
          random.numbers(static_cast<int64_t>(count), 0.5);
      std::copy(numbers.begin(), numbers.end(),
                harness.weight(p.name + suffix));
    }
    // A few rows, one worker's own rows, and several chunks.
    for (int64_t rows : {1, 3, 33, 70, 340, 700})
      if (p.k < 1000 || rows < 100)
        checkProduct(harness, p, rows);
  }
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// A norm alone, and one on GEMM rows.
struct Norm : Result {
  bool rms;

  std::string vector() const {
    return "!kern.weight<[" + str(width) + "] x f32, rows>";
  }
  std::string matrix() const {
    return "!kern.weight<[" + str(width) + ", 8] x f32, panels32>";
  }
  /// A norm that writes f32, quantized values, or both.
  std::string getNorm(const std::string &results) const {
    const bool both = results == "both", isF32 = results != "fused";
    std::string args = "%x: " + f32(), types;
    if (isF32)
      args += ", %y: " + f32(), types += ", " + f32();
    if (results != "plain")
      args += ", %q: " + i8() + ", %s: " + scales(),
          types += ", " + i8() + ", " + scales();
    return phaseFunction(
        {name + results, args, weightValue("g", name + "g", vector()),
         std::string("kern.norm %x, %g") + (rms ? "" : ", %g") +
             (isF32 ? " outs(%y)" : " outs(%q)") + (both ? " copy(%q)" : "") +
             (results == "plain" ? "" : " scales(%s)") + " eps 1.0e-5" +
             (rms ? " {rms}" : "") + " : " + f32() + ", " + vector() +
             (rms ? "" : ", " + vector()) + types});
  }
  /// A GEMM with such a norm.
  std::string getProduct(const std::string &results) const {
    const bool isF32 = results != "fused";
    const std::string counters = bufferType("rows", "i64"),
                      input = bufferType("rows, 8");
    std::string args = "%x: " + input + ", %z: " + f32() + ", %c: " + counters,
                op = "kern.gemm %x, %w norm %g",
                types = input + ", " + matrix() + ", " + vector();
    if (!rms)
      op += " beta %g", types += ", " + vector();
    if (isF32)
      args += ", %y: " + f32(), op += " norm_out %y", types += ", " + f32();
    if (results != "plain")
      args += ", %q: " + i8() + ", %s: " + scales(), op += " norm_copy %q",
          types += ", " + i8() + ", " + scales();
    op += " counters %c outs(%z)";
    if (results != "plain")
      op += " out_scales(%s)";
    return phaseFunction(
        {name + "product" + results, args,
         weightValue("g", name + "g", vector()) +
             weightValue("w", name + "w", matrix()),
         op + " epilogue <" + (rms ? "rms_norm" : "layer_norm") +
             " 1.0e-5> : " + types + ", " + counters + ", " + f32()});
  }
  std::string getText() const {
    std::string text = weightDefinition(name + "g", vector()) +
                       weightDefinition(name + "w", matrix());
    for (const char *results : {"plain", "both", "fused"})
      text += getNorm(results) + getProduct(results);
    return text;
  }
};

void checkNorm(KernelHarness &harness, const Norm &n, int64_t rows) {
  Random random(rows);
  std::vector<float> numbers = random.numbers(rows * n.width, 3);
  numbers[(rows - 1) * n.width] = NAN;
  Guarded<float> x(numbers), input(random.numbers(rows * 8)),
      product(rows * n.width), expected(rows * n.width), y(rows * n.width),
      scales(rows * 2 * divideUp(n.width, n.group));
  Guarded<int8_t> q(rows * n.width);
  Guarded<int64_t> counters(std::vector<int64_t>(rows, 0));
  // The norm alone, and in a GEMM epilogue.
  for (const bool isProduct : {false, true}) {
    const std::string name = n.name + (isProduct ? "product" : "");
    const std::vector<void *> first =
        isProduct
            ? std::vector<void *>{input.data(), product.data(), counters.data()}
            : std::vector<void *>{x.data()};
    auto run = [&](const std::string &results, std::vector<void *> more,
                   const std::function<void()> &check) {
      PhaseCall call{{{"rows", rows}}, first, {}, 1};
      call.args.insert(call.args.end(), more.begin(), more.end());
      if (check)
        runAll(harness, name + results, call, check);
      else
        harness.run(harness.isas().front(), name + results, call);
    };
    // The plain f32 result is the reference.
    run("plain", {expected.data()}, nullptr);
    run("fused", {q.data(), scales.data()},
        [&] { check(n, expected.data(), q.data(), scales.data(), rows); });
    run("both", {y.data(), q.data(), scales.data()}, [&] {
      check(n, expected.data(), q.data(), scales.data(), rows);
      EXPECT_EQ(differentBits(y.data(), expected.data(), rows * n.width), "");
    });
  }
}

TEST(ColumnGroups, NormsQuantizeTheirResult) {
  const std::vector<Norm> norms = {{{"tiny", 12, 32}, false},
                                   {{"layer", 384, 128}, false},
                                   {{"rms", 300, 128}, true},
                                   {{"small", 100, 32}, true},
                                   {{"middle", 192, 64}, false}};
  std::string text;
  for (const Norm &n : norms)
    text += n.getText();
  KernelHarness harness(text);
  for (const Norm &n : norms) {
    Random random(n.width);
    for (const char *suffix : {"w", "g"}) {
      const std::vector<float> numbers = random.numbers(
          static_cast<int64_t>(harness.weightBytes(n.name + suffix) / 4));
      std::copy(numbers.begin(), numbers.end(),
                harness.weight(n.name + suffix));
    }
    for (int64_t rows : {1, 5, 14, 150})
      checkNorm(harness, n, rows);
  }
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

TEST(ColumnGroups, AttentionQuantizesItsResult) {
  const Result r{"attention", 256, 32}; // 4 heads of two groups
  const std::string keys = bufferType("keys, 128", "f32", ", key_panels"),
                    values = bufferType("rows, 128"),
                    scratch = bufferType("parts, 10176");
  std::string text = phaseFunction(
      {r.name,
       "%q: " + r.f32() + ", %k: " + keys + ", %v: " + values +
           ", %t: " + scratch + ", %y: " + r.f32() + ", %c: " + r.i8() +
           ", %z: " + r.scales(),
       raggedDefinition(),
       "kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) copy(%c) "
       "scales(%z) heads 4 kv_heads 2 scale 0.125 : " +
           r.f32() + ", " + keys + ", " + values +
           ", !kern.ragged<0>, !kern.ragged<0>, " + scratch + ", " + r.f32() +
           ", " + r.i8() + ", " + r.scales()});
  text.replace(text.find("\"n\""), 3, "\"parts\"");
  KernelHarness harness(text);
  Random random(4);
  // Several KV blocks, one, and a single key.
  RaggedTable s({std::vector<int>(300, 1), std::vector<int>(40, 1), {1, 0, 0}},
                false);
  Guarded<float> query(random.numbers(s.rows() * r.width)),
      key(random.numbers(s.keys() * 128)),
      value(random.numbers(s.rows() * 128)), memory(5 * 10176),
      y(s.rows() * r.width), scales(s.rows() * 2 * divideUp(r.width, r.group));
  Guarded<int8_t> copy(s.rows() * r.width);
  runAll(harness, r.name,
         {{{"batch", s.batch()},
           {"seq", s.table().columns},
           {"rows", s.rows()},
           {"keys", s.keys()},
           {"parts", 5}},
          {query.data(), key.data(), value.data(), memory.data(), y.data(),
           copy.data(), scales.data()},
          {s.table()},
          1},
         [&] { check(r, y.data(), copy.data(), scales.data(), s.rows()); });
}

} // namespace
