// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs phases in hand-written kern modules: lowers and compiles a module for
// each instruction set that this CPU supports, and calls phases with a
// hand-made frame. Buffers are function arguments, so each may be in guarded
// memory; the harness guards weights.
#pragma once
#include "runtime/abi/Abi.h"
#include "runtime/base/Polynomial.h"
#include "test/support/GuardedMemory.h"
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace transom::test {

/// The inputs for one phase call.
struct PhaseCall {
  std::map<std::string, int64_t> symbols;
  std::vector<void *> args;                 ///< by function argument
  std::vector<transom_ragged_batch> ragged; ///< by index
  int64_t numWorkers = 1;
  std::vector<transom_kv_cache> caches{}; ///< by group
};

/// A phase that can be called many times; `frame.weights` may be redirected to
/// a copy.
struct PreparedPhase {
  transom_phase function = nullptr; ///< null if there is no such phase
  std::vector<int64_t> symbols;     ///< backs `frame.symbols`
  transom_frame frame{};
};

/// The requirements for running a planned function.
struct PlannedFunction {
  std::vector<std::string> phases; ///< in order
  std::vector<Polynomial> offsets; ///< of each buffer in the arena
  Polynomial arenaBytes;
};

/// A compiled kern module.
class KernelHarness {
public:
  /// Compiles a module with weights and functions for this CPU's instruction
  /// sets, or for the given one, which this CPU need not support. A failure is
  /// reported as a test failure; nothing can be run afterwards. `level` 0
  /// disables LLVM optimizations, for tests with many phases.
  explicit KernelHarness(const std::string &text, const std::string &isa = "",
                         unsigned level = 2);
  ~KernelHarness();

  /// The names of instruction sets that run on this CPU.
  const std::vector<std::string> &isas() const { return runnable; }
  /// The packed data for a weight; the caller fills it.
  float *weight(const std::string &name);
  /// The weight size in bytes.
  size_t weightBytes(const std::string &name);
  /// Finds a phase and sets up its frame; `call` must outlive the result.
  PreparedPhase prepare(const std::string &isa, const std::string &phase,
                        const PhaseCall &call);
  /// Runs all workers in a phase, the last one first if `backwards`.
  void run(const std::string &isa, const std::string &phase,
           const PhaseCall &call, bool backwards = false);
  /// Runs all phases in a planned function sequentially. They share one arena
  /// that is between inaccessible pages and filled with garbage. `call`
  /// receives the values that phases write to symbols.
  void runFunction(const std::string &isa, const std::string &function,
                   PhaseCall &call, bool backwards = false);
  /// The object file for an instruction set.
  const std::string &object(const std::string &isa) const {
    return objects.at(isa);
  }

private:
  struct Code;
  std::unique_ptr<Code> code;
  std::vector<std::string> runnable;
  std::map<std::string, std::string> objects;
  std::map<std::string, std::vector<std::string>> symbolOrder; ///< by phase
  std::map<std::string, PlannedFunction> functions;
};

/// A ragged batch table in guarded memory.
class RaggedTable {
public:
  /// `mask` is [batch][columns] with elements 0 and 1. Each 1 has a row. With
  /// `keepFirst` a hidden column 0 also has one, after the others.
  RaggedTable(const std::vector<std::vector<int>> &mask,
              bool keepFirst = false);
  /// New rows for sequences with existing positions: `past` and `rows` for
  /// each.
  static RaggedTable
  ofSteps(const std::vector<std::pair<int64_t, int64_t>> &steps);
  /// Each of `batch` sequences has all its columns.
  static RaggedTable uniform(int64_t batch, int64_t columns);

  const transom_ragged_batch &table() const { return ragged; }
  int64_t rows() const { return ragged.num_tokens; }
  int64_t keys() const { return ragged.key_positions; }
  int64_t batch() const { return ragged.num_sequences; }
  const transom_sequence &sequence(int64_t i) const {
    return ragged.sequences[i];
  }

private:
  RaggedTable() = default;
  std::vector<Guarded<transom_sequence>> sequences;
  std::vector<Guarded<int32_t>> rowTables; ///< sequence, column
  std::vector<Guarded<int64_t>> rowKeys;
  transom_ragged_batch ragged{};
};

/// Random values that are the same on all hosts.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t next();
  int64_t below(int64_t bound) { return int64_t(next() % uint64_t(bound)); }
  /// Uniform in [-1, 1).
  float number() {
    return float(int64_t(next() >> 40) - (1 << 23)) / float(1 << 23);
  }
  std::vector<float> numbers(size_t count, float scale = 1);

private:
  uint64_t state;
};

/// Packs a weight [n, k] into panels with 32 columns; each split starts a new
/// panel.
std::vector<float> packPanels(const std::vector<float> &weight, int64_t k,
                              const std::vector<int64_t> &splits);
/// The same in bf16: pairs along k are adjacent; k is padded with zeros to a
/// multiple of 32.
std::vector<uint16_t> packBf16Panels(const std::vector<float> &weight,
                                     int64_t k,
                                     const std::vector<int64_t> &splits);
/// Packs a vector whose splits start at multiples of 32.
std::vector<float> packPadded(const std::vector<float> &bias,
                              const std::vector<int64_t> &splits);

/// Returns an empty string if both hold the same bits, else the first
/// difference.
std::string differentBits(const float *got, const float *expected,
                          size_t count);

} // namespace transom::test
