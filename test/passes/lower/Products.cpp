// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expected activation comes from a separate phase on the same instruction
// set: other tests check its accuracy, these require the same bits.
#include "test/passes/lower/Products.h"
#include "runtime/base/InstructionSet.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstring>
#include <numeric>

using namespace transom::test;

static std::string str(int64_t value) { return std::to_string(value); }

int64_t Product::n() const {
  return std::accumulate(splits.begin(), splits.end(), int64_t(0));
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

namespace {

/// Writes the function for one GEMM. Its arguments: input, residual, outputs;
/// norm_out, counters; maxima and sums for a summary.
class ProductText {
public:
  explicit ProductText(const Product &p) : p(p) {}

  std::string make() {
    std::string weight = weightType(str(p.n()) + ", " + str(p.k),
                                    p.bf16 ? "bf16" : "f32", "panels32"),
                rowType = buffer("rows", p.n(), p.outStride, p.outBf16);
    argument("x", buffer("rows", p.k, p.inputStride, p.bf16));
    std::string op = "    kern.gemm %x, " + define("w", weight);
    if (p.bias)
      op += " bias " + define("b", weightType(str(p.n()), "f32", "padded32"));
    if (p.residual) {
      argument("r", buffer("rows", p.n(), p.outStride, false));
      op += " residual %r";
    }
    if (p.keyPanels >= 0)
      op += ragged();
    op += norm() + summary() + outs();
    std::string attributes = attributesText();
    return weights + "func.func @" + p.name + "(" + args +
           ") attributes {kern.symbols = [\"batch\", \"keys\", \"rows\", "
           "\"seq\"]} {\n" +
           body + "  kern.phase \"" + p.name + "\" {\n" + op +
           (attributes.empty() ? "" : " epilogue <" + attributes + ">") +
           " : " + types + "\n  }\n  return\n}\n";
  }

private:
  static std::string buffer(const std::string &rows, int64_t columns,
                            int64_t stride, bool bf16,
                            const char *suffix = "") {
    return "!kern.buffer<[" + rows + ", " + str(columns) + "] x " +
           (bf16 ? "bf16" : "f32") + (stride ? ", stride " + str(stride) : "") +
           suffix + ">";
  }
  std::string weightType(const std::string &shape, const char *element,
                         const char *layout) {
    std::string ranges;
    for (size_t i = 0; i < p.splits.size(); ++i)
      ranges += (i ? ", " : "") + str(p.splits[i]);
    return "!kern.weight<[" + shape + "] x " + element + ", " + layout +
           (p.splits.size() > 1 ? ", splits [" + ranges + "]" : "") + ">";
  }
  void type(const std::string &text) {
    types += (types.empty() ? "" : ", ") + text;
  }
  void argument(const std::string &name, const std::string &text,
                bool isOperand = true) {
    args += (args.empty() ? "%" : ", %") + name + ": " + text;
    if (isOperand)
      type(text);
  }
  /// Defines a weight and returns its value.
  std::string define(const std::string &name, const std::string &text) {
    weights += "kern.weight @" + p.name + name + " : " + text +
               " = #weight.expr<file(\"w\")>\n";
    body += "  %" + name + " = kern.get_weight @" + p.name + name + " : " +
            text + "\n";
    type(text);
    return "%" + name;
  }
  std::string ragged() {
    body +=
        "  %s = kern.ragged_batch {batch = \"batch\", columns = \"seq\", rows "
        "= \"rows\", keys = \"keys\"} : !kern.ragged<0>\n";
    type("!kern.ragged<0>");
    return " ragged %s";
  }
  std::string norm() {
    if (!p.norm)
      return "";
    std::string vector = "!kern.weight<[" + str(p.n()) + "] x f32, rows>";
    std::string text = " norm " + define("g", vector);
    if (!p.rms)
      text += " beta " + define("h", vector);
    text += " norm_out %z counters %c";
    type(buffer("rows", p.n(), p.outStride, false));
    type("!kern.buffer<[rows] x i64>");
    return text;
  }
  std::string summaryType() const {
    return "!kern.buffer<[rows, " + str(p.summaryGroups()) + "] x f32>";
  }
  std::string summary() {
    if (!p.summary)
      return "";
    type(summaryType());
    type(summaryType());
    return " summary(%u, %v)";
  }
  /// The outputs, followed by the norm and summary arguments.
  std::string outs() {
    std::string names;
    for (size_t i = 0; i < p.splits.size(); ++i) {
      names += (i ? ", %y" : "%y") + str(i);
      argument("y" + str(i),
               int64_t(i) == p.keyPanels
                   ? buffer("keys", p.splits[i], 0, p.outBf16, ", key_panels")
                   : buffer("rows",
                            p.glu.empty() ? p.splits[i] : p.outColumns(),
                            p.outStride, p.outBf16));
    }
    if (p.norm) {
      argument("z", buffer("rows", p.n(), p.outStride, false), false);
      argument("c", "!kern.buffer<[rows] x i64>", false);
    }
    if (p.summary) {
      argument("u", summaryType(), false);
      argument("v", summaryType(), false);
    }
    return " outs(" + names + ")";
  }
  std::string attributesText() {
    std::string text =
        p.glu.empty() ? p.activation : std::string("glu ") + p.glu;
    if (p.norm)
      text += std::string(text.empty() ? "" : ", ") +
              (p.rms ? "rms_norm" : "layer_norm") + " 1.0e-5";
    return text;
  }

  const Product &p;
  std::string weights, body, args, types;
};

} // namespace

/// The activation as a separate elementwise phase: `act_KIND`.
static std::string activationModule(const std::string &kind) {
  return "func.func @act_" + kind +
         "(%x: !kern.buffer<[n] x f32>, %y: !kern.buffer<[n] x f32>) "
         "attributes {kern.symbols = [\"n\"]} {\n"
         "  kern.phase \"act_" +
         kind +
         "\" {\n    kern.elementwise ins(%x) outs(%y) {\n    ^bb0(%v: f32):\n"
         "      %a = kern.apply <" +
         kind +
         "> %v\n      kern.yield %a : f32\n    } : (!kern.buffer<[n] x f32>) "
         "-> !kern.buffer<[n] x f32>\n"
         "  }\n  return\n}\n";
}

std::string transom::test::getText(const std::vector<Product> &list) {
  std::string text;
  std::vector<std::string> activations;
  for (const Product &p : list) {
    text += ProductText(p).make();
    for (const std::string &kind : {p.activation, p.glu})
      if (!kind.empty() && std::find(activations.begin(), activations.end(),
                                     kind) == activations.end())
        activations.push_back(kind);
  }
  for (const std::string &kind : activations)
    text += activationModule(kind);
  return text;
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

GuardedNumbers::GuardedNumbers(int64_t count, bool bf16, Edge edge)
    : memory(count * (bf16 ? 2 : 4), edge), bf16(bf16) {}

GuardedNumbers::GuardedNumbers(const std::vector<float> &values,
                               int64_t columns, int64_t stride, bool bf16,
                               Edge edge)
    : GuardedNumbers(int64_t(values.size()) / columns *
                         (stride ? stride : columns),
                     bf16, edge) {
  stride = stride ? stride : columns;
  const int64_t rows = int64_t(values.size()) / columns;
  for (int64_t i = 0; i < rows * stride; ++i)
    set(i, i % stride < columns ? values[i / stride * columns + i % stride]
                                : -1.0e30f);
}

float GuardedNumbers::get(int64_t i) const {
  float value;
  if (bf16)
    return widenBf16(static_cast<const uint16_t *>(data())[i]);
  std::memcpy(&value, static_cast<const char *>(data()) + i * 4, 4);
  return value;
}

void GuardedNumbers::set(int64_t i, float value) {
  if (bf16)
    static_cast<uint16_t *>(data())[i] = roundToBf16(value);
  else
    std::memcpy(static_cast<char *>(data()) + i * 4, &value, 4);
}

static void roundAll(std::vector<float> &values) {
  for (float &value : values)
    value = widenBf16(roundToBf16(value));
}

Products::Products(std::vector<Product> list)
    : list(std::move(list)), harness(getText(this->list)) {}

const Products::Weights &Products::weights(const Product &p) {
  auto [known, isNew] = cache.try_emplace(p.name);
  Weights &w = known->second;
  if (!isNew)
    return w;
  Random random(p.n() * 7919 + p.k);
  w.weight = random.numbers(p.n() * p.k);
  if (p.bf16) {
    roundAll(w.weight);
    fillBf16(p.name + "w", packBf16Panels(w.weight, p.k, p.splits));
  } else {
    fill(p.name + "w", packPanels(w.weight, p.k, p.splits));
  }
  if (p.bias)
    fill(p.name + "b", packPadded(w.bias = random.numbers(p.n()), p.splits));
  if (p.norm) {
    fill(p.name + "g", w.gamma = random.numbers(p.n()));
    if (!p.rms)
      fill(p.name + "h", w.beta = random.numbers(p.n()));
  }
  return w;
}

void Products::fill(const std::string &name, const std::vector<float> &data) {
  ASSERT_EQ(harness.weightBytes(name), data.size() * 4) << name;
  std::memcpy(harness.weight(name), data.data(), data.size() * 4);
}

void Products::fillBf16(const std::string &name,
                        const std::vector<uint16_t> &data) {
  ASSERT_EQ(harness.weightBytes(name), data.size() * 2) << name;
  std::memcpy(harness.weight(name), data.data(), data.size() * 2);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

void Products::check(int64_t rows, int64_t numWorkers) {
  for (const Product &p : list)
    check(p, rows, numWorkers);
}

std::vector<float> Products::linear(const std::string &isa, const Product &p,
                                    const std::vector<float> &x, int64_t rows) {
  const Weights &w = weights(p);
  const float *bias = p.bias ? w.bias.data() : nullptr;
  const transom::InstructionSet &set = *transom::findInstructionSet(isa);
  auto *linear = referenceLinear;
  if (p.bf16 && set.dotBf16)
    linear = set.amx && p.k % transom::amxBf16Depth == 0 ? referenceAmxLinear
                                                         : referenceDotLinear;
  return linear(x, w.weight, bias, rows, p.n(), p.k);
}

void Products::check(const Product &p, int64_t rows, int64_t numWorkers) {
  Random random(rows * 31 + p.k);
  Case c{rows, numWorkers, random.numbers(rows * p.k), {}, {}};
  if (p.bf16)
    roundAll(c.input);
  if (p.residual)
    c.residual = random.numbers(rows * p.n());
  std::vector<float> chain;
  for (const std::string &isa : harness.isas()) {
    // All instruction sets but those with pairs have the same multiply-add
    // chain.
    if (chain.empty() || (p.bf16 && transom::findInstructionSet(isa)->dotBf16))
      chain = linear(isa, p, c.input, rows);
    c.expected = chain;
    if (!p.activation.empty())
      c.expected = activate(isa, p.activation, c.expected);
    if (!p.glu.empty())
      c.expected = gate(isa, p.glu, c.expected);
    for (size_t i = 0; i < c.residual.size(); ++i)
      c.expected[i] = c.expected[i] + c.residual[i];
    SCOPED_TRACE(isa + " " + p.name + " rows " + str(rows) + " workers " +
                 str(numWorkers));
    run(isa, p, c, Edge::End);
    run(isa, p, c, Edge::Begin);
  }
}

std::vector<float> Products::activate(const std::string &isa,
                                      const std::string &kind,
                                      const std::vector<float> &x) {
  Guarded<float> in(x), out(x.size());
  PhaseCall call;
  call.symbols = {{"n", int64_t(x.size())}};
  call.args = {in.data(), out.data()};
  harness.run(isa, "act_" + kind, call);
  return out.copy();
}

std::vector<float> Products::gate(const std::string &isa,
                                  const std::string &kind,
                                  const std::vector<float> &x) {
  std::vector<float> g, u;
  for (size_t i = 0; i < x.size(); ++i)
    (i % 16 < 8 ? g : u).push_back(x[i]);
  g = activate(isa, kind, g);
  for (size_t i = 0; i < g.size(); ++i)
    g[i] = g[i] * u[i];
  return g;
}

void Products::run(const std::string &isa, const Product &p, const Case &c,
                   Edge edge) {
  const int64_t n = p.n(), stride = p.outStride, rows = c.rows;
  RaggedTable ragged({std::vector<int>(rows, 1)});
  GuardedNumbers input(c.input, p.k, p.inputStride, p.bf16, edge),
      other(c.residual, n, stride, false, edge),
      normed(rows * (stride ? stride : n), false, edge);
  Guarded<int64_t> counters(rows, edge);
  Guarded<float> maxima(rows * p.summaryGroups(), edge);
  Guarded<float> sums(rows * p.summaryGroups(), edge);
  std::vector<GuardedNumbers> outs;
  PhaseCall call;
  call.numWorkers = c.numWorkers;
  call.symbols = {
      {"rows", rows}, {"keys", ragged.keys()}, {"batch", 1}, {"seq", rows}};
  call.ragged = {ragged.table()};
  call.args = {input.data()};
  if (p.residual)
    call.args.push_back(other.data());
  for (size_t i = 0; i < p.splits.size(); ++i) {
    int64_t size = int64_t(i) == p.keyPanels ? ragged.keys() * p.splits[i]
                   : p.glu.empty() ? rows * (stride ? stride : p.splits[i])
                                   : rows * (stride ? stride : p.outColumns());
    outs.emplace_back(size, p.outBf16, edge);
    for (int64_t at = 0; at < size; ++at)
      outs[i].set(at, -7.0f);
    call.args.push_back(outs[i].data());
  }
  if (p.inPlace) {
    outs[0] = GuardedNumbers(c.residual, n, stride, false, edge);
    call.args[1] = call.args[2] = outs[0].data();
  }
  if (p.norm)
    call.args.insert(call.args.end(), {normed.data(), counters.data()});
  // Sums that are not requested have no memory.
  const bool hasSums = edge == Edge::End;
  if (p.summary)
    call.args.insert(call.args.end(),
                     {maxima.data(), hasSums ? sums.data() : nullptr});
  harness.run(isa, p.name, call, edge == Edge::Begin);
  compare(p, c, outs);
  if (p.summary)
    compareSummary(p, c, maxima, hasSums ? sums.data() : nullptr);
  if (p.norm)
    compareNorm(p, c, normed, counters);
}

/// The location of column `c` in row `r` in an output.
static int64_t outputOffset(const Product &p, size_t out, int64_t r,
                            int64_t c) {
  const int64_t columns = p.glu.empty() ? p.splits[out] : p.outColumns();
  if (int64_t(out) != p.keyPanels)
    return r * (p.outStride ? p.outStride : columns) + c;
  if (p.outBf16) // column pairs
    return ((r / 32 * (columns / 2) + c / 2) * 32 + r % 32) * 2 + c % 2;
  return (r / 32 * columns + c) * 32 + r % 32;
}

void Products::compare(const Product &p, const Case &c,
                       const std::vector<GuardedNumbers> &outs) {
  int64_t first = 0, wrong = 0;
  for (size_t i = 0; i < outs.size(); ++i) {
    int64_t columns = p.glu.empty() ? p.splits[i] : p.outColumns(),
            stride = p.outStride ? p.outStride : columns;
    for (int64_t r = 0; r < c.rows; ++r) {
      for (int64_t column = 0; column < columns; ++column) {
        float got = outs[i].get(outputOffset(p, i, r, column)),
              expected = c.expected[r * p.outColumns() + first + column];
        if (p.outBf16)
          expected = widenBf16(roundToBf16(expected));
        wrong += !differentBits(&got, &expected, 1).empty();
      }
      for (int64_t pad = columns; pad < stride && int64_t(i) != p.keyPanels;
           ++pad) // padding is not written
        wrong += outs[i].get(r * stride + pad) != (p.inPlace ? -1.0e30f : -7);
    }
    first += columns;
  }
  EXPECT_EQ(wrong, 0);
}

void Products::compareNorm(const Product &p, const Case &c,
                           const GuardedNumbers &normed,
                           const Guarded<int64_t> &counters) {
  const Weights &w = weights(p);
  const int64_t n = p.n(), stride = p.outStride ? p.outStride : n;
  for (int64_t r = 0; r < c.rows; ++r) {
    std::vector<float> row =
        referenceNorm(c.expected.data() + r * n, n, w.gamma.data(),
                      p.rms ? nullptr : w.beta.data(), 1.0e-5f, p.rms);
    std::vector<float> got;
    for (int64_t column = 0; column < n; ++column)
      got.push_back(normed.get(r * stride + column));
    EXPECT_EQ(differentBits(got.data(), row.data(), n), "") << "row " << r;
    EXPECT_EQ(counters[r], 0) << "row " << r;
  }
}

void Products::compareSummary(const Product &p, const Case &c,
                              const Guarded<float> &maxima, const float *sums) {
  const int64_t groups = p.summaryGroups();
  for (int64_t r = 0; r < c.rows; ++r) {
    ReferenceRowSummary row =
        referenceRowSummary(c.expected.data() + r * p.n(), p.n());
    EXPECT_EQ(differentBits(&maxima[r * groups], row.maxima.data(), groups), "")
        << "row " << r;
    if (sums)
      EXPECT_EQ(differentBits(sums + r * groups, row.sums.data(), groups), "")
          << "row " << r;
  }
}
