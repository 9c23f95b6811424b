// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an evaluation of kern holds besides values: buffers in checked memory,
// and the share of rows that the worker in turn works on.
#pragma once
#include "compiler/evaluator/Evaluation.h"
#include "compiler/evaluator/kern/KernMemory.h"
#include "compiler/evaluator/kern/MachineMemory.h"
#include "dialects/kern/SizeBounds.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace transom {

/// Rows `begin <= r < end`.
struct RowRange {
  int64_t begin, end;
};

/// The buffers of a run.
class KernEvaluation {
public:
  /// Workers that share the work, in an order that `seed` shuffles.
  static constexpr int numWorkers = 2;

  KernEvaluation(mlir::ModuleOp module,
                 const decltype(EvaluateOptions::observe) &observe)
      : bounds(module), observe(observe) {}

  /// Takes memory for a buffer of its own.
  Result<void> allocate(mlir::Value buffer, Evaluation &e);
  /// Gives a buffer its place in the arena.
  Result<void> place(mlir::Value buffer, const std::string &offset,
                     Evaluation &e);
  /// Gives a buffer the memory of another.
  Result<void> alias(mlir::Value buffer, mlir::Value other, Evaluation &e);

  /// Gives a buffer the place of buffer `number` of `machine`.
  Result<void> adopt(mlir::Value buffer, int32_t number, Evaluation &e);
  /// Bytes of a buffer that may have no place yet.
  Result<int64_t> getByteSize(mlir::Value buffer, Evaluation &e) const;

  /// A buffer's sizes.
  const Sizes &sizes(mlir::Value buffer) const {
    return buffers.find(buffer)->second.sizes;
  }
  /// Product of all sizes but the last, and the last (1 for rank 0).
  int64_t rows(mlir::Value buffer) const;
  int64_t columns(mlir::Value buffer) const;
  /// Elements from row to row.
  int64_t stride(mlir::Value buffer) const {
    return buffers.find(buffer)->second.stride;
  }
  /// Some columns of a row of a buffer, and all of them.
  std::vector<Number> readColumns(mlir::Value buffer, int64_t row,
                                  int64_t first, int64_t count);
  std::vector<Number> readRow(mlir::Value buffer, int64_t row) {
    return readColumns(buffer, row, 0, columns(buffer));
  }
  /// Reads a row for the checks of memory alone.
  void checkRow(mlir::Value buffer, int64_t row) {
    if (!machine)
      readRow(buffer, row);
  }

  /// A weight as a value of this type holds it.
  static std::shared_ptr<const Tensor>
  weightAs(mlir::Type type, const std::shared_ptr<const Tensor> &weight);

  /// An element of a buffer seen as [rows, columns], whatever its layout; a
  /// buffer of bf16 rounds what is written to it.
  Number read(mlir::Value buffer, int64_t row, int64_t column);
  void write(mlir::Value buffer, int64_t row, int64_t column, Number value);
  /// The same by the index of each dimension.
  Number read(mlir::Value buffer, llvm::ArrayRef<int64_t> index);
  void write(mlir::Value buffer, llvm::ArrayRef<int64_t> index, Number value);
  /// An element by its row-major number.
  Number readFlat(mlir::Value buffer, int64_t number);
  /// Begins and ends the use of memory that has no content before and after.
  void scratch(mlir::Value buffer);
  void checkScratch(mlir::Value buffer);

  /// Begins and ends the use of words in which workers count what they
  /// finished: zero before, and zero again after.
  void beginCounting(mlir::Value counters);
  void endCounting(mlir::Value counters);

  /// The rows of `count` that the worker in turn owns; all of them for an
  /// operation that is not shared out by rows.
  RowRange share(int64_t count) const;

  /// First key position of each row of a ragged value: sequences begin at
  /// multiples of a key panel.
  static std::vector<int64_t> keyPositions(const RaggedBatch &ragged);

  /// A key or value as a cache holds it. In the domain of bits whole numbers
  /// have a scale for each head.
  struct CachedRow {
    std::vector<Number> elements, scales;
  };
  /// Key and value of a row that is appended to a cache.
  struct Appended {
    std::string cache;
    int64_t sequence, position;
    CachedRow key, value;
  };
  //===--------------------------------------------------------------------===//
  // Bounded sizes
  //===--------------------------------------------------------------------===//

  /// An error when an operation uses a size that has no value.
  Result<void> checkSizes(kern::BufferOp op, Evaluation &e) const;
  /// Takes the values of the sizes that an operation is about to write.
  void forgetSize(kern::BufferOp op, Evaluation &e);
  /// Notes the value of a size, which it gets when the phase in turn ends. An
  /// error when it is above its bound.
  Result<void> writeSize(llvm::StringRef size, int64_t value, Evaluation &e);
  /// Gives the sizes their values, and the buffers that have them theirs.
  Result<void> flushSizes(Evaluation &e);

  /// The sequences of `kern.decode_batch`, for layer bodies as well.
  std::optional<RaggedBatch> step;

  /// What the operations of the phase in turn append; nobody reads it before
  /// the phase ends.
  std::vector<Appended> appended;
  /// Puts that into the caches.
  static Result<void> flushCaches(Evaluation &e);

  /// The first mistake that reads and writes met; empty: none.
  const std::string &mistake() const {
    return machine ? machine->mistake() : memory.mistake();
  }

  KernMemory memory;
  /// Where buffers are in place of `memory` when a phase is evaluated alone.
  std::unique_ptr<MachineMemory> machine;
  int64_t arena = 0;      ///< offset of the arena in the memory
  int64_t arenaBytes = 0; ///< its size
  mlir::ArrayAttr slots;  ///< the entry's table of offsets
  Toucher turn{0, Toucher::anyWorker, nullptr};
  uint64_t seed = 0; ///< of the order of workers

private:
  void fail(const std::string &text);
  struct Held {
    Extent extent;
    Sizes sizes;
    int64_t stride = 1; ///< elements from row to row
    int64_t width = 4;  ///< bytes of an element
    bool keyPanels = false;
    mlir::Type element;
    std::optional<OperandFormat> format; ///< of numbers in storage types
  };
  Result<Held> describe(mlir::Value buffer, Evaluation &e) const;
  Result<void> updateSizes(mlir::Value buffer, Held &held, Evaluation &e) const;
  int64_t getByteOffset(const Held &held, int64_t row, int64_t column) const;

  kern::SizeBounds bounds;
  const decltype(EvaluateOptions::observe) &observe;
  std::map<std::string, int64_t> writtenSizes; ///< in the phase in turn
  llvm::DenseMap<mlir::Value, Held> buffers;
  int32_t storages = 0;
};

/// The products [rows, columns] of rows of the input of `op` with rows of its
/// weight, which code for AMX may multiply in tiles. `inits` are those of the
/// columns, or empty for zeros.
std::vector<Number> multiplyRows(kern::WeightProductOp op, bool mayUseTiles,
                                 RowRange rows, RowRange columns,
                                 llvm::ArrayRef<Number> inits, Evaluation &e);

/// Runs a function on buffers: inputs are argument buffers filled before, the
/// rest of its arguments are the results.
Result<std::vector<NamedTensor>>
evaluateKernEntry(mlir::func::FuncOp function,
                  llvm::ArrayRef<NamedTensor> inputs, Evaluation &e);

/// True for an entry on buffers.
bool isKernEntry(mlir::func::FuncOp function);

/// Attach functions of the kern dialect.
void attachKernControl(mlir::MLIRContext *context);
void attachKernRows(mlir::MLIRContext *context);
void attachKernElementwise(mlir::MLIRContext *context);
void attachKernOneDnn(mlir::MLIRContext *context);
void attachKernAttention(mlir::MLIRContext *context);
void attachKernCaches(mlir::MLIRContext *context);
void attachKernMoves(mlir::MLIRContext *context);
void attachKernGroups(mlir::MLIRContext *context);

} // namespace transom
