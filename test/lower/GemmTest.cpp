// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with weights against one chain of fused multiply-adds an output:
// all heights, tails, lengths of K, epilogues and splits over parts give these
// bits on every instruction set, and nothing outside the operands is touched.
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace transom::test;

namespace {

/// One product with all that may vary; `spec` names go into the module's text.
struct Product {
  std::string name;
  int64_t k = 1;
  std::vector<int64_t> parts; ///< columns of each out
  bool bias = false;
  bool residual = false;
  bool inPlace = false; ///< the residual lies where the out goes
  std::string activation;
  int64_t keyPanels = -1; ///< index of the out that is key panels
  int64_t inputStride = 0;
  int64_t outStride = 0;
  bool norm = false;

  int64_t n() const {
    return std::accumulate(parts.begin(), parts.end(), int64_t(0));
  }
};

std::string str(int64_t value) { return std::to_string(value); }

std::string buffer(const std::string &rows, int64_t columns, int64_t stride,
                   const char *suffix = "") {
  return "!kern.buffer<[" + rows + ", " + str(columns) + "] x f32" +
         (stride ? ", stride " + str(stride) : "") + suffix + ">";
}

std::string weightType(const Product &p, const std::string &shape,
                       const char *layout) {
  std::string parts;
  for (size_t i = 0; i < p.parts.size(); ++i)
    parts += (i ? ", " : "") + str(p.parts[i]);
  return "!kern.weight<[" + shape + "] x f32, " + layout +
         (p.parts.size() > 1 ? ", parts [" + parts + "]" : "") + ">";
}

/// Text of the weights and of a function with one phase for the product. Its
/// arguments: input, residual, outs; norm_out, counters.
std::string moduleOf(const Product &p) {
  std::string weight = weightType(p, str(p.n()) + ", " + str(p.k), "panels32"),
              bias = weightType(p, str(p.n()), "padded32");
  std::string vector = "!kern.weight<[" + str(p.n()) + "] x f32, rows>";
  std::string text, body, args, types, outs, outTypes;
  auto define = [&](const std::string &name, const std::string &type) {
    text += "kern.weight @" + p.name + name + " : " + type +
            " = \"file(\\\"w\\\")\"\n";
    body += "  %" + name + " = kern.get_weight @" + p.name + name + " : " +
            type + "\n";
  };
  std::string input = buffer("rows", p.k, p.inputStride),
              rowType = buffer("rows", p.n(), p.outStride);
  args = "%x: " + input;
  types = input + ", " + weight;
  define("w", weight);
  std::string op = "    kern.gemm %x, %w";
  if (p.bias) {
    define("b", bias);
    op += " bias %b";
    types += ", " + bias;
  }
  if (p.residual) {
    args += ", %r: " + rowType;
    op += " residual %r";
    types += ", " + rowType;
  }
  if (p.keyPanels >= 0) {
    body += "  %s = kern.segments {batch = \"batch\", columns = \"seq\", rows "
            "= \"rows\", keys = \"keys\"} : !kern.segments<0>\n";
    op += " segments %s";
    types += ", !kern.segments<0>";
  }
  for (size_t i = 0; i < p.parts.size(); ++i) {
    std::string type = int64_t(i) == p.keyPanels
                           ? buffer("keys", p.parts[i], 0, ", key_panels")
                           : buffer("rows", p.parts[i], p.outStride);
    args += ", %y" + str(i) + ": " + type;
    outs += (i ? ", %y" : "%y") + str(i);
    outTypes += ", " + type;
  }
  std::string attributes;
  if (p.norm) {
    define("g", vector);
    define("h", vector);
    args += ", %z: " + rowType + ", %c: !kern.buffer<[rows] x i64>";
    op += " norm %g beta %h norm_out %z counters %c";
    types += ", " + vector + ", " + vector + ", " + rowType +
             ", !kern.buffer<[rows] x i64>";
    attributes = "norm_eps = 1.0e-5";
  }
  if (!p.activation.empty())
    attributes += std::string(attributes.empty() ? "" : ", ") +
                  "activation = \"" + p.activation + "\"";
  op += " outs(" + outs + ")" +
        (attributes.empty() ? "" : " {" + attributes + "}") + " : " + types +
        outTypes + "\n";
  return text + "func.func @" + p.name + "(" + args +
         ") attributes {kern.symbols = [\"batch\", \"keys\", \"rows\", "
         "\"seq\"]} {\n" +
         body + "  kern.phase \"" + p.name + "\" {\n" + op +
         "  }\n  return\n}\n";
}

/// The activation as an elementwise phase of its own: `act_KIND`.
std::string activationModule(const std::string &kind) {
  return "func.func @act_" + kind +
         "(%x: !kern.buffer<[n] x f32>, %y: !kern.buffer<[n] x f32>) "
         "attributes {kern.symbols = [\"n\"]} {\n"
         "  kern.phase \"act_" +
         kind +
         "\" {\n    kern.elementwise ins(%x) outs(%y) {\n    ^bb0(%v: f32):\n"
         "      %a = kern.apply \"" +
         kind +
         "\" %v\n      kern.yield %a : f32\n    } : (!kern.buffer<[n] x f32>) "
         "-> !kern.buffer<[n] x f32>\n"
         "  }\n  return\n}\n";
}

/// Rows `stride` floats apart.
std::vector<float> spread(const std::vector<float> &dense, int64_t columns,
                          int64_t stride) {
  if (!stride)
    return dense;
  std::vector<float> out(dense.size() / columns * stride, -1.0e30f);
  for (size_t i = 0; i < dense.size(); ++i)
    out[i / columns * stride + i % columns] = dense[i];
  return out;
}

/// Runs products of one module and compares them.
class Products {
public:
  explicit Products(std::vector<Product> list)
      : list(std::move(list)), harness(textOf(this->list)) {}

  /// Every product with this many rows and parts, on each instruction set.
  void check(int64_t rows, int64_t parts) {
    for (const Product &p : list)
      check(p, rows, parts);
  }

private:
  static std::string textOf(const std::vector<Product> &list) {
    std::string text;
    std::vector<std::string> activations;
    for (const Product &p : list) {
      text += moduleOf(p);
      if (!p.activation.empty() &&
          std::find(activations.begin(), activations.end(), p.activation) ==
              activations.end())
        activations.push_back(p.activation);
    }
    for (const std::string &kind : activations)
      text += activationModule(kind);
    return text;
  }

  /// Random weights, made once and packed.
  struct Weights {
    std::vector<float> weight, bias, gamma, beta;
  };
  const Weights &weights(const Product &p) {
    auto [known, isNew] = cache.try_emplace(p.name);
    Weights &w = known->second;
    if (!isNew)
      return w;
    Random random(p.n() * 7919 + p.k);
    w.weight = random.numbers(p.n() * p.k);
    fill(p.name + "w", packPanels(w.weight, p.k, p.parts));
    if (p.bias)
      fill(p.name + "b", packPadded(w.bias = random.numbers(p.n()), p.parts));
    if (p.norm) {
      fill(p.name + "g", w.gamma = random.numbers(p.n()));
      fill(p.name + "h", w.beta = random.numbers(p.n()));
    }
    return w;
  }
  void fill(const std::string &name, const std::vector<float> &data) {
    ASSERT_EQ(harness.weightBytes(name), data.size() * 4);
    std::copy(data.begin(), data.end(), harness.weight(name));
  }

  void check(const Product &p, int64_t rows, int64_t parts) {
    const Weights &w = weights(p);
    Random random(rows * 31 + p.k);
    int64_t n = p.n();
    std::vector<float> x = random.numbers(rows * p.k),
                       residual = p.residual ? random.numbers(rows * n)
                                             : std::vector<float>();
    std::vector<float> linear = referenceLinear(
        x, w.weight, p.bias ? w.bias.data() : nullptr, rows, n, p.k);
    for (const std::string &isa : harness.isas()) {
      std::vector<float> wanted = linear;
      if (!p.activation.empty())
        wanted = activate(isa, p.activation, wanted);
      for (size_t i = 0; i < residual.size(); ++i)
        wanted[i] = wanted[i] + residual[i];
      SCOPED_TRACE(isa + " " + p.name + " rows " + str(rows) + " parts " +
                   str(parts));
      run(isa, p, rows, parts, x, residual, wanted, Edge::End);
      run(isa, p, rows, parts, x, residual, wanted, Edge::Begin);
    }
  }

  std::vector<float> activate(const std::string &isa, const std::string &kind,
                              const std::vector<float> &x) {
    Guarded<float> in(x), out(x.size());
    PhaseCall call;
    call.symbols = {{"n", int64_t(x.size())}};
    call.args = {in.data(), out.data()};
    harness.run(isa, "act_" + kind, call);
    return out.copy();
  }

  void run(const std::string &isa, const Product &p, int64_t rows,
           int64_t parts, const std::vector<float> &x,
           const std::vector<float> &residual, const std::vector<float> &wanted,
           Edge edge) {
    int64_t n = p.n(), stride = p.outStride;
    SegmentsTable segments({std::vector<int>(rows, 1)});
    Guarded<float> input(spread(x, p.k, p.inputStride), edge),
        other(spread(residual, n, stride), edge),
        normed(rows * (stride ? stride : n), edge);
    Guarded<int64_t> counters(rows, edge);
    std::vector<Guarded<float>> outs;
    PhaseCall call;
    call.parts = parts;
    call.symbols = {
        {"rows", rows}, {"keys", segments.keys()}, {"batch", 1}, {"seq", rows}};
    call.segments = {segments.table()};
    call.args = {input.data()};
    if (p.residual)
      call.args.push_back(other.data());
    for (size_t i = 0; i < p.parts.size(); ++i) {
      outs.emplace_back(int64_t(i) == p.keyPanels
                            ? segments.keys() * p.parts[i]
                            : rows * (stride ? stride : p.parts[i]),
                        edge);
      std::fill(outs[i].begin(), outs[i].end(), -7.0f);
      call.args.push_back(outs[i].data());
    }
    if (p.inPlace) {
      std::vector<float> before = spread(residual, n, stride);
      std::copy(before.begin(), before.end(), outs[0].begin());
      call.args[1] = outs[0].data();
    }
    if (p.norm)
      call.args.insert(call.args.end(), {normed.data(), counters.data()});
    harness.run(isa, p.name, call, edge == Edge::Begin);
    compare(p, rows, outs, wanted);
    if (p.norm)
      compareNorm(p, rows, wanted, normed, counters);
  }

  void compare(const Product &p, int64_t rows,
               const std::vector<Guarded<float>> &outs,
               const std::vector<float> &wanted) {
    int64_t first = 0, wrong = 0;
    for (size_t i = 0; i < outs.size(); ++i) {
      int64_t columns = p.parts[i],
              stride = p.outStride ? p.outStride : columns;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          int64_t at = int64_t(i) == p.keyPanels
                           ? (r / 32 * columns + c) * 32 + r % 32
                           : r * stride + c;
          wrong +=
              !differentBits(&outs[i][at], &wanted[r * p.n() + first + c], 1)
                   .empty();
        }
        for (int64_t c = columns; c < stride && int64_t(i) != p.keyPanels; ++c)
          wrong += outs[i][r * stride + c] != -7.0f; // padding is not written
      }
      first += columns;
    }
    EXPECT_EQ(wrong, 0);
  }

  void compareNorm(const Product &p, int64_t rows,
                   const std::vector<float> &wanted,
                   const Guarded<float> &normed,
                   const Guarded<int64_t> &counters) {
    const Weights &w = weights(p);
    int64_t stride = p.outStride ? p.outStride : p.n();
    for (int64_t r = 0; r < rows; ++r) {
      std::vector<float> row =
          referenceNorm(wanted.data() + r * p.n(), p.n(), w.gamma.data(),
                        w.beta.data(), 1.0e-5f, false);
      EXPECT_EQ(differentBits(normed.data() + r * stride, row.data(), p.n()),
                "")
          << "row " << r;
      EXPECT_EQ(counters[r], 0) << "row " << r;
    }
  }

  std::vector<Product> list;
  KernelHarness harness;
  std::map<std::string, Weights> cache;
};

} // namespace

TEST(Gemm, EveryHeightAndColumnTail) {
  std::vector<Product> list;
  for (int64_t n = 1; n <= 70; ++n) {
    Product p;
    p.name = "n" + str(n);
    p.k = 16;
    p.parts = {n};
    p.bias = true;
    list.push_back(p);
  }
  Products products(list);
  for (int64_t rows = 0; rows <= 40; ++rows)
    products.check(rows, 1 + rows % 3);
}

TEST(Gemm, EveryHeightAndChainLength) {
  std::vector<Product> list;
  for (int64_t k : {1, 2, 7, 64, 100, 1600, 4100})
    for (bool bias : {false, true}) {
      Product p;
      p.name = "k" + str(k) + (bias ? "bias" : "");
      p.k = k;
      p.parts = {bias ? 33 : 70};
      p.bias = bias;
      list.push_back(p);
    }
  Products products(list);
  for (int64_t rows = 1; rows <= 40; ++rows)
    products.check(rows, 1);
  for (int64_t parts : {2, 3, 5, 16})
    for (int64_t rows : {1, 7, 25})
      products.check(rows, parts);
  // More rows than one chunk holds.
  for (int64_t rows : {85, 86, 173})
    products.check(rows, 3);
}

TEST(Gemm, Epilogues) {
  std::vector<Product> list;
  auto add = [&](const std::string &name, int64_t k,
                 std::vector<int64_t> parts) -> Product & {
    list.emplace_back();
    list.back().name = name;
    list.back().k = k;
    list.back().parts = std::move(parts);
    return list.back();
  };
  for (const char *kind :
       {"relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "quick_gelu"}) {
    Product &p = add(std::string("act_only_") + kind, 24, {70});
    p.activation = kind;
    p.bias = true;
  }
  for (int64_t k : {24, 4100}) {
    Product &residual = add("residual" + str(k), k, {49});
    residual.residual = residual.bias = true;
    Product &both = add("both" + str(k), k, {49});
    both.residual = true;
    both.activation = "gelu";
    Product &norm = add("norm" + str(k), k, {70});
    norm.norm = norm.bias = norm.residual = true;
    Product &split = add("split" + str(k), k, {33, 64, 5});
    split.bias = true;
    split.keyPanels = 1;
    Product &strided = add("strided" + str(k), k, {40});
    strided.inputStride = k + 16;
    strided.outStride = 56;
    strided.norm = strided.residual = true;
  }
  Product &inPlace = add("in_place", 24, {49});
  inPlace.residual = inPlace.inPlace = inPlace.norm = true;
  Product &keys = add("keys", 24, {10});
  keys.keyPanels = 0;
  Products products(list);
  for (int64_t rows : {0, 1, 2, 5, 6, 7, 11, 12, 13, 24, 25, 37, 40})
    products.check(rows, 1);
  for (int64_t parts : {2, 3, 5})
    for (int64_t rows : {1, 13, 40, 100})
      products.check(rows, parts);
}
