// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work that bench times: a model, the work for one table line, and its cost.
// Calls on tensors use random, stored or tokenized inputs.
#pragma once
#include "tools/commands/Tensors.h"
#include "tools/commands/bench/Limits.h"
#include <map>

namespace transom::tools {

/// The model under test.
struct BenchModel {
  ModelPtr model;
  Manifest manifest;
  const ManifestEntry *entry = nullptr;
  std::string isa;
  unsigned threads = 1;

  /// Loads a model. An empty `entry` selects the first entry, or `step` for a
  /// decoder. Fails if the model has no entry with this name.
  static Result<BenchModel> load(const std::string &path,
                                 const std::string &entry, unsigned threads);
};

/// Cost of calls with given sizes.
struct BenchCost {
  double flops = 0;     ///< floating-point operations
  double bf16Flops = 0; ///< FLOP with bf16 operands
  double int8Flops = 0; ///< operations with integer operands
  double bytes = 0;     ///< weights that are read completely, and the cache
  int64_t tokens = 0;   ///< counted tokens, without padding
  int64_t rows = 0;     ///< sequences
  int64_t columns = 0;  ///< longest sequence in the inputs

  /// Returns the min time in seconds for this cost as one call.
  double limit(const MachineLimits &limits) const;
};

/// Symbols in an entry with their values in a call.
using SymbolValues = std::map<std::string, int64_t>;

/// One executor run for an entry: its sizes and cost.
struct BenchRun {
  SymbolValues symbols;
  BenchCost cost;
};

struct MeasureOptions;
struct BenchRow;
class Runner;

/// The work for one table line.
class BenchWork {
public:
  virtual ~BenchWork() = default;
  /// Creates a runner with its own memory for an artifact.
  virtual Result<std::unique_ptr<Runner>>
  runner(const BenchModel &bench, const MeasureOptions &options) const = 0;
  /// Returns the runs in one repetition. A repetition must have run before.
  virtual std::vector<BenchRun> runs(const BenchModel &bench) const = 0;
  /// Sets the row's fields other than times and costs.
  virtual void describe(BenchRow &row) const = 0;
};

/// One call on the entry.
struct BenchCall {
  std::vector<transom_tensor> inputs;
};

/// The calls in one table line, run sequentially.
class Workload : public BenchWork {
public:
  std::string name; ///< entry name
  std::vector<BenchCall> calls;

  Result<std::unique_ptr<Runner>>
  runner(const BenchModel &bench, const MeasureOptions &options) const override;
  std::vector<BenchRun> runs(const BenchModel &bench) const override;
  void describe(BenchRow &row) const override;

  /// Creates one call on random inputs: `batch` full sequences with `length`
  /// tokens.
  static Result<Workload> make(const BenchModel &bench, int64_t batch,
                               int64_t length);
  /// Creates a call for the tensors in each file.
  static Result<Workload> read(const BenchModel &bench,
                               const std::vector<std::string> &files);
  /// Creates one call on all lines in a text file.
  static Result<Workload> tokenize(const BenchModel &bench,
                                   const std::string &file);
  /// Splits the work into one call for each sequence, without its padding.
  static Result<Workload> oneByOne(const BenchModel &bench, Workload whole);

private:
  void addFile(InputTensors file);
  /// Allocates memory for a tensor.
  char *take(size_t bytes);

  std::vector<std::unique_ptr<char[]>> memory;
  std::vector<InputTensors> files;
};

/// Returns values for an entry's symbols, including the pairs in its ragged
/// batches, for inputs that a run has accepted. Only mask data is read.
SymbolValues getSymbols(const BenchModel &bench, const ManifestEntry &entry,
                        const BenchCall &call);

/// Evaluates a formula; 0 if the call does not define all its symbols.
double getValue(const Polynomial &formula, const SymbolValues &symbols);

/// Returns the cost for an entry run with these sizes, without the token count.
BenchCost getCost(const BenchModel &bench, const ManifestEntry &entry,
                  const SymbolValues &symbols);
/// Returns the cost for a call with inputs that a run has accepted.
BenchCost getCost(const BenchModel &bench, const BenchCall &call);

} // namespace transom::tools
