// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State during one run in the reference evaluator: values, symbols, weights.
// Operation models read operands from it and store results in it.
#pragma once
#include "compiler/evaluator/Evaluator.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "runtime/base/Polynomial.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <memory>

namespace transom {

/// An `!attn.ragged` value: rows in a ragged tensor, sequence by sequence.
struct RaggedBatch {
  /// One row in a ragged tensor.
  struct Row {
    int64_t sequence = 0;
    int64_t column = 0; ///< in the caller's batch; also the position
    bool isKey = true;  ///< false: only a query
  };

  int64_t batch = 0;
  int64_t columns = 0;
  std::vector<Row> rows;
  /// The step rows for each sequence; empty if there is no past.
  std::vector<SequenceRows> steps;
};

/// For each row its rank among the keys in its sequence, from 0; for a row that
/// is not a key, the number of keys.
std::vector<int64_t> getKeyRanks(const RaggedBatch &ragged);

/// One row for each 1 in a mask [batch, columns].
RaggedBatch getRaggedBatch(const Tensor &mask, bool keepFirst);

/// The rows in a step; an error if a number is negative or a sequence is listed
/// twice.
Result<RaggedBatch> getRaggedBatch(llvm::ArrayRef<SequenceRows> sequences);

class Evaluation;
class KernEvaluation;

} // namespace transom

#include "compiler/evaluator/Evaluable.h.inc"

namespace transom {

/// Values, symbols and weights in one run.
class Evaluation {
public:
  Evaluation(mlir::ModuleOp module, const EvaluateOptions &options);
  ~Evaluation();

  /// The tensor for a value; its operation must have run.
  const Tensor &tensor(mlir::Value value) const {
    return *tensors.find(value)->second;
  }
  /// The rows for a value with type `!attn.ragged`.
  const RaggedBatch &ragged(mlir::Value value) const {
    return *rows.find(value)->second;
  }
  /// Sets the tensor for a value.
  void set(mlir::Value value, Tensor tensor);
  void set(mlir::Value value, std::shared_ptr<const Tensor> tensor);
  void set(mlir::Value value, RaggedBatch ragged);
  /// The cache symbol for a value with a cache type.
  llvm::StringRef cache(mlir::Value value) const {
    return caches.find(value)->second;
  }
  void setCache(mlir::Value value, llvm::StringRef symbol) {
    caches[value] = symbol.str();
  }
  /// Lets a value share the contents of another.
  void alias(mlir::Value value, mlir::Value other);

  /// Reports the input to a GEMM with a weight, if requested.
  void observeInput(mlir::Operation *product, const Tensor &input) const {
    if (options.observeInput)
      options.observeInput(product, input.real);
  }

  /// Binds a symbol; an error if it already has another value.
  Result<void> bind(const std::string &symbol, int64_t value);
  /// Unbinds a symbol, if it has a value.
  void unbind(const std::string &symbol) { symbols.erase(symbol); }
  /// Binds symbols that are an input size by themselves, and checks all sizes.
  Result<void> bindShape(llvm::ArrayRef<Polynomial> dims,
                         const NamedTensor &input);
  /// Evaluates a size.
  Result<int64_t> size(const Polynomial &polynomial) const;
  /// Evaluates the sizes in a ranked tensor type.
  Result<Sizes> sizes(mlir::Type type) const;

  /// Evaluates a weight symbol.
  Result<std::shared_ptr<const Tensor>> weight(llvm::StringRef symbol);

  /// Runs a block up to its terminator; its arguments must be set.
  Result<void> run(mlir::Block &block);
  /// Runs one operation; its error starts with the location.
  Result<void> run(mlir::Operation *op);
  /// The error, prefixed by the operation and its location.
  static Error errorAt(mlir::Operation *op, Error error);

  mlir::SymbolTable &symbolTable() { return table; }
  /// The rows in the current step; `rows` is the symbol for their count.
  Result<RaggedBatch> stepBatch(llvm::StringRef rows) const;
  /// Cache store indices for the sequences in a ragged batch: from its steps;
  /// without a past from the options, or 0, 1, ... An error if the options have
  /// a different number of sequences.
  Result<std::vector<int64_t>> getSequences(const RaggedBatch &ragged) const;
  /// The store for keys and values.
  CacheStore &cacheStore() {
    return options.caches ? *options.caches : ownCaches;
  }

  /// Buffers and phases; null in a run on tensors.
  std::unique_ptr<KernEvaluation> kern;

private:
  mlir::ModuleOp module;
  const EvaluateOptions &options;
  mlir::SymbolTable table{module};
  llvm::DenseMap<mlir::Value, std::shared_ptr<const Tensor>> tensors;
  llvm::DenseMap<mlir::Value, std::shared_ptr<const RaggedBatch>> rows;
  llvm::StringMap<std::shared_ptr<const Tensor>> weights;
  llvm::StringMap<int64_t> symbols;
  llvm::DenseMap<mlir::Value, std::string> caches;
  CacheStore ownCaches;
};

/// Binds the symbols for rows and key positions in a ragged batch.
Result<void> bindRagged(Evaluation &e, llvm::StringRef rows,
                        llvm::StringRef keys, const RaggedBatch &ragged);

/// Adapts a function `Result<void> f(OpT, Evaluation &)` to the interface.
template <typename OpT, Result<void> (*function)(OpT, Evaluation &)>
struct EvaluableModel
    : Evaluable::ExternalModel<EvaluableModel<OpT, function>, OpT> {
  Result<void> evaluate(mlir::Operation *op, Evaluation &evaluation) const {
    return function(mlir::cast<OpT>(op), evaluation);
  }
};

/// Makes an operation evaluable by a function.
template <typename OpT, Result<void> (*function)(OpT, Evaluation &)>
void attachEvaluator(mlir::MLIRContext *context) {
  OpT::template attachInterface<EvaluableModel<OpT, function>>(*context);
}

/// One attach function for each source file with models.
void attachElementwise(mlir::MLIRContext *context);
void attachShapes(mlir::MLIRContext *context);
void attachProducts(mlir::MLIRContext *context);
void attachAttention(mlir::MLIRContext *context);
void attachRagged(mlir::MLIRContext *context);
void attachDecoder(mlir::MLIRContext *context);

} // namespace transom
