// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of one run of the reference evaluator: values, symbols, weights.
// The models of operations read operands from it and put results into it.
#pragma once
#include "compiler/evaluator/Evaluator.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "runtime/base/Polynomial.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <memory>

namespace transom {

/// The value of `!attn.ragged`: rows of a ragged tensor, sequence by
/// sequence.
struct RaggedBatch {
  /// One row of a ragged tensor.
  struct Row {
    int64_t sequence = 0;
    int64_t column = 0; ///< in the caller's batch; also its position
    bool isKey = true;  ///< false: a query only
  };

  int64_t batch = 0;
  int64_t columns = 0;
  std::vector<Row> rows;
  /// By sequence what a step says of it; empty where there is no past.
  std::vector<SequenceRows> steps;
};

/// For each row its number among the keys of its sequence, counted from 0; for
/// a row that is not a key the number of keys.
std::vector<int64_t> getKeyRanks(const RaggedBatch &ragged);

/// One row for each 1 of a mask [batch, columns].
RaggedBatch getRaggedBatch(const Tensor &mask, bool keepFirst);

/// The rows of a step; an error where numbers are negative or a sequence comes
/// twice.
Result<RaggedBatch> getRaggedBatch(llvm::ArrayRef<SequenceRows> sequences);

class Evaluation;
class KernEvaluation;

} // namespace transom

#include "compiler/evaluator/Evaluable.h.inc"

namespace transom {

/// Values, symbols and weights of one run.
class Evaluation {
public:
  Evaluation(mlir::ModuleOp module, const EvaluateOptions &options);
  ~Evaluation();

  /// The tensor that a value holds; its operation ran before.
  const Tensor &tensor(mlir::Value value) const {
    return *tensors.find(value)->second;
  }
  /// The rows that a value of type `!attn.ragged` holds.
  const RaggedBatch &ragged(mlir::Value value) const {
    return *rows.find(value)->second;
  }
  /// Gives a value its tensor.
  void set(mlir::Value value, Tensor tensor);
  void set(mlir::Value value, std::shared_ptr<const Tensor> tensor);
  void set(mlir::Value value, RaggedBatch ragged);
  /// The symbol of the cache that a value of a cache type holds.
  llvm::StringRef cache(mlir::Value value) const {
    return caches.find(value)->second;
  }
  void setCache(mlir::Value value, llvm::StringRef symbol) {
    caches[value] = symbol.str();
  }
  /// Gives a value what another holds.
  void alias(mlir::Value value, mlir::Value other);

  /// Tells who asked for it what a product with a weight multiplies.
  void observeInput(mlir::Operation *product, const Tensor &input) const {
    if (options.observeInput)
      options.observeInput(product, input.real);
  }

  /// Binds a symbol; an error where it has another value already.
  Result<void> bind(const std::string &symbol, int64_t value);
  /// Takes the value of a symbol, if it has one.
  void unbind(const std::string &symbol) { symbols.erase(symbol); }
  /// Binds the symbols that are alone among the sizes of an input, and checks
  /// all sizes.
  Result<void> bindShape(llvm::ArrayRef<Polynomial> dims,
                         const NamedTensor &input);
  /// The value of a size.
  Result<int64_t> size(const Polynomial &polynomial) const;
  /// The sizes of a ranked tensor type.
  Result<Sizes> sizes(mlir::Type type) const;

  /// The value of a weight symbol.
  Result<std::shared_ptr<const Tensor>> weight(llvm::StringRef symbol);

  /// Runs a block whose arguments are set, up to its terminator.
  Result<void> run(mlir::Block &block);
  /// Runs one operation; its error has the location in front.
  Result<void> run(mlir::Operation *op);
  /// The error with the operation and its location in front.
  static Error errorAt(mlir::Operation *op, Error error);

  mlir::SymbolTable &symbolTable() { return table; }
  /// The rows of the step that runs; `rows` is the symbol for their number.
  Result<RaggedBatch> stepBatch(llvm::StringRef rows) const;
  /// The numbers that the sequences of a ragged batch have in the cache store:
  /// those of its steps; without a past those of the options, or 0, 1, ... An
  /// error where the options have another number of sequences.
  Result<std::vector<int64_t>> getSequences(const RaggedBatch &ragged) const;
  /// Where keys and values of the sequences are kept.
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

/// Binds the symbols for the rows and key positions of ragged.
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

/// One attach function for each source of models.
void attachElementwise(mlir::MLIRContext *context);
void attachShapes(mlir::MLIRContext *context);
void attachProducts(mlir::MLIRContext *context);
void attachAttention(mlir::MLIRContext *context);
void attachRagged(mlir::MLIRContext *context);
void attachDecoder(mlir::MLIRContext *context);

} // namespace transom
