// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What bench times: a model, the work of one line of the table, and what it
// costs. Here the work of entries that are called on tensors, on inputs that
// are made up, read from files or tokenized.
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

  /// Loads it; `entry` is empty for the first, or `step` of a decoder. An error
  /// when the model has none of that name.
  static Result<BenchModel> load(const std::string &path,
                                 const std::string &entry, unsigned threads);
};

/// What calls cost, for their sizes.
struct BenchCost {
  double flops = 0;     ///< floating-point operations
  double bf16Flops = 0; ///< those of them that multiply bf16
  double int8Flops = 0; ///< those of them that multiply whole numbers
  double bytes = 0;     ///< weights that are read whole, and the cache
  int64_t tokens = 0;   ///< that count: padding does not
  int64_t rows = 0;     ///< sequences
  int64_t columns = 0;  ///< longest sequence, as the inputs have it

  /// The least seconds in which the machine could do this as one call.
  double limit(const MachineLimits &limits) const;
};

/// Symbols of an entry with their values in a call.
using SymbolValues = std::map<std::string, int64_t>;

/// One executor run of an entry: its sizes and what it costs.
struct BenchRun {
  SymbolValues symbols;
  BenchCost cost;
};

struct MeasureOptions;
struct BenchRow;
class Runner;

/// The work of one line of the table.
class BenchWork {
public:
  virtual ~BenchWork() = default;
  /// What does the work with memory of its own, for an artifact.
  virtual Result<std::unique_ptr<Runner>>
  runner(const BenchModel &bench, const MeasureOptions &options) const = 0;
  /// The runs of one repetition, which has been run before.
  virtual std::vector<BenchRun> runs(const BenchModel &bench) const = 0;
  /// Fills in what the row says besides times and costs.
  virtual void describe(BenchRow &row) const = 0;
};

/// One run of the entry.
struct BenchCall {
  std::vector<transom_tensor> inputs;
};

/// The calls of one line of the table, one after another.
class Workload : public BenchWork {
public:
  std::string name; ///< of the entry
  std::vector<BenchCall> calls;

  Result<std::unique_ptr<Runner>>
  runner(const BenchModel &bench, const MeasureOptions &options) const override;
  std::vector<BenchRun> runs(const BenchModel &bench) const override;
  void describe(BenchRow &row) const override;

  /// One call on made-up inputs: `batch` full sequences of `length`.
  static Result<Workload> make(const BenchModel &bench, int64_t batch,
                               int64_t length);
  /// A call for each file's tensors.
  static Result<Workload> read(const BenchModel &bench,
                               const std::vector<std::string> &files);
  /// One call on all lines of a file of texts.
  static Result<Workload> tokenize(const BenchModel &bench,
                                   const std::string &file);
  /// The same work with a call for each sequence, without its padding.
  static Result<Workload> oneByOne(const BenchModel &bench, Workload whole);

private:
  void addFile(InputTensors file);
  /// Adds memory of so many bytes for a tensor.
  char *take(size_t bytes);

  std::vector<std::unique_ptr<char[]>> memory;
  std::vector<InputTensors> files;
};

/// The values of an entry's symbols, the pairs of its ragged batches too, for
/// inputs that a run has accepted. Data is read of masks alone.
SymbolValues getSymbols(const BenchModel &bench, const ManifestEntry &entry,
                        const BenchCall &call);

/// A formula's value; 0 where it has symbols that the call does not give.
double getValue(const Polynomial &formula, const SymbolValues &symbols);

/// What a run of an entry of these sizes costs, but for the tokens that it
/// counts.
BenchCost getCost(const BenchModel &bench, const ManifestEntry &entry,
                  const SymbolValues &symbols);
/// What a call costs; its inputs have been accepted by a run.
BenchCost getCost(const BenchModel &bench, const BenchCall &call);

} // namespace transom::tools
