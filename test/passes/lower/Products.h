// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs with weights for tests: many in one module, each run on every
// instruction set of this CPU with all buffers in guarded memory, and compared
// bit by bit with one multiply-add chain per output.
#pragma once
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <map>
#include <string>
#include <vector>

namespace transom::test {

/// One GEMM with all variable parameters.
struct Product {
  std::string name; ///< its phase, and its weights' name prefix
  int64_t k = 1;
  std::vector<int64_t> splits; ///< columns in each output
  bool bias = false;
  bool residual = false;
  bool inPlace = false; ///< the residual is in the output's memory
  std::string activation;
  int64_t keyPanels = -1;  ///< index of the output in key panels
  int64_t inputStride = 0; ///< elements, 0 for dense
  int64_t outStride = 0;   ///< for all rows with n columns, 0 for dense
  bool norm = false;
  bool rms = false;     ///< the norm is an RMSNorm
  bool summary = false; ///< for the output rows
  std::string glu;      ///< columns alternate: 8 from g, 8 from u
  bool bf16 = false;    ///< input and weight are
  bool outBf16 = false; ///< all outputs are

  int64_t n() const; ///< columns together
  /// Total columns in all outputs.
  int64_t outColumns() const { return glu.empty() ? n() : n() / 2; }
  /// Groups in a row summary.
  int64_t summaryGroups() const { return (n() + 63) / 64; }
};

/// The module for some GEMMs: a function with a phase for each, and one for
/// each activation.
std::string getText(const std::vector<Product> &list);

/// f32 or bf16 values in guarded memory.
class GuardedNumbers {
public:
  GuardedNumbers(int64_t count, bool bf16, Edge edge);
  /// Rows with `columns` values, `stride` elements apart (0: dense); gaps
  /// contain a large value. Values are rounded to the type.
  GuardedNumbers(const std::vector<float> &values, int64_t columns,
                 int64_t stride, bool bf16, Edge edge);
  void *data() const { return memory.data(); }
  float get(int64_t i) const;
  void set(int64_t i, float value);

private:
  GuardedMemory memory;
  bool bf16;
};

/// Runs GEMMs in one module and compares them.
class Products {
public:
  explicit Products(std::vector<Product> list);

  /// Runs every GEMM with this row and worker count, on each instruction set,
  /// with buffers that end and that begin at an inaccessible page.
  void check(int64_t rows, int64_t numWorkers);

private:
  /// Random weights, made once and packed; in bf16 rounded.
  struct Weights {
    std::vector<float> weight, bias, gamma, beta;
  };
  /// The operands for one run, and the expected results.
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
  /// activation(g) * u, with columns alternating in groups of eight.
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
