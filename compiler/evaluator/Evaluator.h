// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference evaluator: runs an entry of a module in float64, operation by
// operation, by the definition of each. It is the oracle of tests and of the
// check after every pass; nothing in it is meant to be fast.
#pragma once
#include "compiler/evaluator/Tensor.h"
#include "dialects/weights/WeightExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <map>
#include <string>

namespace transom {

/// A tensor with the name that an entry knows it by.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// The new rows of one sequence in a step of a decoder.
struct SequenceRows {
  int64_t sequence = 0; ///< its number in the cache store
  int64_t past = 0;     ///< positions it has already
  int64_t rows = 0;     ///< new rows, at the positions past, past + 1, ...
};

/// The keys and values that a decoder keeps over several calls, by the symbol
/// of the cache and the number of the sequence, position by position.
class CacheStore {
public:
  /// What is kept for one cache and sequence.
  struct Entry {
    std::vector<std::vector<Number>> keys, values; ///< by position
    /// By position the scale of each head's key and value, for whole numbers in
    /// the domain of bits; elsewhere keys and values are multiplied by them.
    std::vector<std::vector<Number>> keyScales, valueScales;
  };

  /// Puts key and value of one position; what was there and after it is
  /// dropped. An error where a position before it is missing.
  Result<void> put(llvm::StringRef cache, int64_t sequence, int64_t position,
                   llvm::ArrayRef<Number> key, llvm::ArrayRef<Number> value);
  /// Gives scales to the last position that was put.
  void setScales(llvm::StringRef cache, int64_t sequence,
                 llvm::ArrayRef<Number> keyScales,
                 llvm::ArrayRef<Number> valueScales);
  /// What is kept, empty where nothing is.
  const Entry &entry(llvm::StringRef cache, int64_t sequence);
  /// Takes what is kept for a cache and sequence.
  void assign(llvm::StringRef cache, int64_t sequence, Entry entry) {
    entries[{cache.str(), sequence}] = std::move(entry);
  }
  /// Gives a sequence what another has, in all caches.
  void copy(int64_t from, int64_t to);

private:
  std::map<std::pair<std::string, int64_t>, Entry> entries;
};

/// What an evaluation needs besides the module.
struct EvaluateOptions {
  /// Where weight expressions find file tensors; null: a model without files.
  const TensorSource *source = nullptr;
  /// What numbers are; null: float64.
  Domain *domain = nullptr;
  /// Called with the numbers that an operation computes: of `attn` all of a
  /// result, of `kern` one that it writes.
  std::function<void(mlir::Operation *, llvm::ArrayRef<Number>)> observe;
  /// Called with what a product of `attn` with a weight multiplies.
  std::function<void(mlir::Operation *, llvm::ArrayRef<Number>)> observeInput;
  /// The sequences of a step, their rows one after the other; empty: all rows
  /// are one new sequence.
  std::vector<SequenceRows> sequences;
  /// What the sequences have already, and where new keys and values go; null: a
  /// store for this call alone.
  CacheStore *caches = nullptr;
};

/// Runs `entry` on the inputs. Symbols are bound by the inputs' shapes; inputs
/// with a default may be left out. Errors name the entry, the input or the
/// location of the operation that failed.
Result<std::vector<NamedTensor>> evaluate(mlir::ModuleOp module,
                                          llvm::StringRef entry,
                                          llvm::ArrayRef<NamedTensor> inputs,
                                          const EvaluateOptions &options = {});

/// Attaches the evaluator's models to the operations of the dialects;
/// `evaluate` does it by itself.
void attachEvaluators(mlir::MLIRContext *context);

} // namespace transom
