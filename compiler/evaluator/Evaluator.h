// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference evaluator: runs a module entry in float64, operation by
// operation, each by its definition. It is the oracle for tests and for the
// check after every pass, and is not optimized for speed.
#pragma once
#include "compiler/evaluator/Tensor.h"
#include "dialects/weights/WeightExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <map>
#include <string>

namespace transom {

/// A tensor and its name in the entry.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// New rows for one sequence in a decode step.
struct SequenceRows {
  int64_t sequence = 0; ///< index in the cache store
  int64_t past = 0;     ///< number of cached positions
  int64_t rows = 0;     ///< new rows, at the positions past, past + 1, ...
};

/// Keys and values that a decoder stores across calls, by cache symbol,
/// sequence and position.
class CacheStore {
public:
  /// Contents for one cache and sequence.
  struct Entry {
    std::vector<std::vector<Number>> keys, values; ///< by position
    /// Scales for each position and head, if the bits domain stores integers;
    /// in other domains keys and values are already multiplied by them.
    std::vector<std::vector<Number>> keyScales, valueScales;
  };

  /// Puts the key and value at a position; drops the contents at this position
  /// and after it. An error if an earlier position is missing.
  Result<void> put(llvm::StringRef cache, int64_t sequence, int64_t position,
                   llvm::ArrayRef<Number> key, llvm::ArrayRef<Number> value);
  /// Sets the scales at the last position that was put.
  void setScales(llvm::StringRef cache, int64_t sequence,
                 llvm::ArrayRef<Number> keyScales,
                 llvm::ArrayRef<Number> valueScales);
  /// The contents, possibly empty.
  const Entry &entry(llvm::StringRef cache, int64_t sequence);
  /// Replaces the contents for a cache and sequence.
  void assign(llvm::StringRef cache, int64_t sequence, Entry entry) {
    entries[{cache.str(), sequence}] = std::move(entry);
  }
  /// Copies a sequence to another, in all caches.
  void copy(int64_t from, int64_t to);

private:
  std::map<std::pair<std::string, int64_t>, Entry> entries;
};

/// Inputs to an evaluation in addition to the module.
struct EvaluateOptions {
  /// Provides file tensors to weight expressions; null: a model without files.
  const TensorSource *source = nullptr;
  /// Defines numbers; null: float64.
  Domain *domain = nullptr;
  /// Called with numbers that an operation computes: in `attn` a whole result,
  /// in `kern` one number that it writes.
  std::function<void(mlir::Operation *, llvm::ArrayRef<Number>)> observe;
  /// Called with the input to an `attn` GEMM that multiplies by a weight.
  std::function<void(mlir::Operation *, llvm::ArrayRef<Number>)> observeInput;
  /// Sequences in a step, with consecutive rows; empty: all rows are one new
  /// sequence.
  std::vector<SequenceRows> sequences;
  /// Stores keys and values across calls; null: a store for this call only.
  CacheStore *caches = nullptr;
};

/// Runs `entry` on the inputs. Input shapes bind the symbols; inputs with a
/// default may be omitted. Errors name the entry, the input or the location of
/// the operation that failed.
Result<std::vector<NamedTensor>> evaluate(mlir::ModuleOp module,
                                          llvm::StringRef entry,
                                          llvm::ArrayRef<NamedTensor> inputs,
                                          const EvaluateOptions &options = {});

/// Attaches the operation models to the dialects; `evaluate` does so itself.
void attachEvaluators(mlir::MLIRContext *context);

} // namespace transom
