// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with weights for tests: many in one module, each run on every
// instruction set of this CPU with all buffers in guarded memory, and compared
// bit by bit with one chain of multiply-adds an output.
#pragma once
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <map>
#include <string>
#include <vector>

namespace transom::test {

/// One product with all that may vary.
struct Product {
  std::string name; ///< its phase, and the beginning of its weights' names
  int64_t k = 1;
  std::vector<int64_t> splits; ///< columns of each out
  bool bias = false;
  bool residual = false;
  bool inPlace = false; ///< the residual lies where the out goes
  std::string activation;
  int64_t keyPanels = -1;  ///< index of the out that is key panels
  int64_t inputStride = 0; ///< elements, 0 for dense
  int64_t outStride = 0;   ///< of all rows of n columns, likewise
  bool norm = false;
  bool rms = false;     ///< the norm is an RMSNorm
  bool summary = false; ///< of the rows of the out
  std::string glu;      ///< columns are 8 of g and 8 of u in turn
  bool bf16 = false;    ///< input and weight are
  bool outBf16 = false; ///< all outs are

  int64_t n() const; ///< columns together
  /// Columns of the outs together.
  int64_t outColumns() const { return glu.empty() ? n() : n() / 2; }
  /// Groups of the summary of a row.
  int64_t summaryGroups() const { return (n() + 63) / 64; }
};

/// The module of some products: a function with a phase for each, and one for
/// each activation.
std::string getText(const std::vector<Product> &list);

/// Numbers of f32 or bf16 in guarded memory.
class GuardedNumbers {
public:
  GuardedNumbers(int64_t count, bool bf16, Edge edge);
  /// Rows of `columns` values, `stride` elements apart (0: dense); what lies
  /// between them is a large number. Values are rounded to the type.
  GuardedNumbers(const std::vector<float> &values, int64_t columns,
                 int64_t stride, bool bf16, Edge edge);
  void *data() const { return memory.data(); }
  float get(int64_t i) const;
  void set(int64_t i, float value);

private:
  GuardedMemory memory;
  bool bf16;
};

/// Runs products of one module and compares them.
class Products {
public:
  explicit Products(std::vector<Product> list);

  /// Every product with this many rows and workers, on each instruction set,
  /// with buffers that end and that begin at an inaccessible page.
  void check(int64_t rows, int64_t numWorkers);

private:
  /// Random weights, made once and packed; of bf16 the rounded numbers.
  struct Weights {
    std::vector<float> weight, bias, gamma, beta;
  };
  /// The operands of one run, and what must come out.
  struct Case {
    int64_t rows, numWorkers;
    std::vector<float> input, residual, expected;
  };

  const Weights &weights(const Product &p);
  void fill(const std::string &name, const std::vector<float> &data);
  void fillBf16(const std::string &name, const std::vector<uint16_t> &data);
  void check(const Product &p, int64_t rows, int64_t numWorkers);
  std::vector<float> linear(const std::string &isa, const Product &p,
                            const std::vector<float> &x, int64_t rows);
  std::vector<float> activate(const std::string &isa, const std::string &kind,
                              const std::vector<float> &x);
  /// activation(g) * u of columns in turns of eight.
  std::vector<float> gate(const std::string &isa, const std::string &kind,
                          const std::vector<float> &x);
  void run(const std::string &isa, const Product &p, const Case &c, Edge edge);
  void compare(const Product &p, const Case &c,
               const std::vector<GuardedNumbers> &outs);
  void compareNorm(const Product &p, const Case &c,
                   const GuardedNumbers &normed,
                   const Guarded<int64_t> &counters);

  void compareSummary(const Product &p, const Case &c,
                      const Guarded<float> &maxima, const float *sums);

  std::vector<Product> list;
  KernelHarness harness;
  std::map<std::string, Weights> cache;
};

} // namespace transom::test
