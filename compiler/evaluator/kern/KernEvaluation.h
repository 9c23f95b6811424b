// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State in a kern evaluation besides values: buffers in checked memory, and the
// row range for the current worker.
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

/// The buffers in a run.
class KernEvaluation {
public:
  /// Number of workers; `seed` shuffles their order.
  static constexpr int numWorkers = 2;

  KernEvaluation(mlir::ModuleOp module,
                 const decltype(EvaluateOptions::observe) &observe)
      : bounds(module), observe(observe) {}

  /// Allocates separate memory for a buffer.
  Result<void> allocate(mlir::Value buffer, Evaluation &e);
  /// Sets a buffer's arena offset.
  Result<void> place(mlir::Value buffer, const std::string &offset,
                     Evaluation &e);
  /// Lets a buffer share another buffer's memory.
  Result<void> alias(mlir::Value buffer, mlir::Value other, Evaluation &e);

  /// Maps a buffer to buffer `number` in `machine`.
  Result<void> adopt(mlir::Value buffer, int32_t number, Evaluation &e);
  /// Bytes in a buffer, which may not be placed yet.
  Result<int64_t> getByteSize(mlir::Value buffer, Evaluation &e) const;

  /// Buffer sizes.
  const Sizes &sizes(mlir::Value buffer) const {
    return buffers.find(buffer)->second.sizes;
  }
  /// The product of all sizes but the last, and the last size (1 for rank 0).
  int64_t rows(mlir::Value buffer) const;
  int64_t columns(mlir::Value buffer) const;
  /// Elements between consecutive rows.
  int64_t stride(mlir::Value buffer) const {
    return buffers.find(buffer)->second.stride;
  }
  /// Some columns in a buffer row, and all of them.
  std::vector<Number> readColumns(mlir::Value buffer, int64_t row,
                                  int64_t first, int64_t count);
  std::vector<Number> readRow(mlir::Value buffer, int64_t row) {
    return readColumns(buffer, row, 0, columns(buffer));
  }
  /// Reads a row only to check the memory.
  void checkRow(mlir::Value buffer, int64_t row) {
    if (!machine)
      readRow(buffer, row);
  }

  /// Converts a weight to the storage in a type.
  static std::shared_ptr<const Tensor>
  weightAs(mlir::Type type, const std::shared_ptr<const Tensor> &weight);

  /// An element in a buffer viewed as [rows, columns], for any layout; bf16
  /// buffers round on write.
  Number read(mlir::Value buffer, int64_t row, int64_t column);
  void write(mlir::Value buffer, int64_t row, int64_t column, Number value);
  /// The same by a multi-dimensional index.
  Number read(mlir::Value buffer, llvm::ArrayRef<int64_t> index);
  void write(mlir::Value buffer, llvm::ArrayRef<int64_t> index, Number value);
  /// An element by its row-major index.
  Number readFlat(mlir::Value buffer, int64_t number);
  /// Begins and ends the use of memory without contents before and after.
  void scratch(mlir::Value buffer);
  void checkScratch(mlir::Value buffer);

  /// Begins and ends the use of counters with which workers count finished
  /// work: zero before and after.
  void beginCounting(mlir::Value counters);
  void endCounting(mlir::Value counters);

  /// The current worker's range in `count` rows; all rows for an operation that
  /// is not split by rows.
  RowRange share(int64_t count) const;

  /// The first key position for each row in a ragged value: each sequence
  /// starts at a multiple of the key panel width.
  static std::vector<int64_t> keyPositions(const RaggedBatch &ragged);

  /// A key or value as stored in a cache. In the bits domain integers have one
  /// scale per head.
  struct CachedRow {
    std::vector<Number> elements, scales;
  };
  /// Key and value for a row that is appended to a cache.
  struct Appended {
    std::string cache;
    int64_t sequence, position;
    CachedRow key, value;
  };
  //===--------------------------------------------------------------------===//
  // Bounded sizes
  //===--------------------------------------------------------------------===//

  /// An error if an operation uses a size without a value.
  Result<void> checkSizes(kern::BufferOp op, Evaluation &e) const;
  /// Clears the sizes that an operation is about to write.
  void forgetSize(kern::BufferOp op, Evaluation &e);
  /// Records a size, which takes effect when the current phase ends. An error
  /// if it exceeds its bound.
  Result<void> writeSize(llvm::StringRef size, int64_t value, Evaluation &e);
  /// Binds the recorded sizes, and updates the buffers that use them.
  Result<void> flushSizes(Evaluation &e);

  /// The sequences in `kern.decode_batch`, also for layer bodies.
  std::optional<RaggedBatch> step;

  /// Rows appended in the current phase; they cannot be read before it ends.
  std::vector<Appended> appended;
  /// Writes the appended rows to the caches.
  static Result<void> flushCaches(Evaluation &e);

  /// The first error in reads and writes; empty: none.
  const std::string &mistake() const {
    return machine ? machine->mistake() : memory.mistake();
  }

  KernMemory memory;
  /// Replaces `memory` when a single phase is evaluated.
  std::unique_ptr<MachineMemory> machine;
  int64_t arena = 0;      ///< arena offset in the memory
  int64_t arenaBytes = 0; ///< arena size
  mlir::ArrayAttr slots;  ///< offset table of the entry
  Toucher turn{0, Toucher::anyWorker, nullptr};
  uint64_t seed = 0; ///< for the worker order

private:
  void fail(const std::string &text);
  struct Held {
    Extent extent;
    Sizes sizes;
    int64_t stride = 1; ///< elements between rows
    int64_t width = 4;  ///< bytes per element
    bool keyPanels = false;
    mlir::Type element;
    std::optional<OperandFormat> format; ///< for elements with a storage type
  };
  Result<Held> describe(mlir::Value buffer, Evaluation &e) const;
  Result<void> updateSizes(mlir::Value buffer, Held &held, Evaluation &e) const;
  int64_t getByteOffset(const Held &held, int64_t row, int64_t column) const;

  kern::SizeBounds bounds;
  const decltype(EvaluateOptions::observe) &observe;
  std::map<std::string, int64_t> writtenSizes; ///< in the current phase
  llvm::DenseMap<mlir::Value, Held> buffers;
  int32_t storages = 0;
};

/// The GEMM [rows, columns] of input rows and weight rows of `op`, which AMX
/// code may compute in tiles. `inits` has one element per column; empty: zeros.
std::vector<Number> multiplyRows(kern::WeightProductOp op, bool mayUseTiles,
                                 RowRange rows, RowRange columns,
                                 llvm::ArrayRef<Number> inits, Evaluation &e);

/// Runs a function on buffers: inputs are argument buffers that are filled
/// before, all other arguments are results.
Result<std::vector<NamedTensor>>
evaluateKernEntry(mlir::func::FuncOp function,
                  llvm::ArrayRef<NamedTensor> inputs, Evaluation &e);

/// True for an entry on buffers.
bool isKernEntry(mlir::func::FuncOp function);

/// Attach functions for the kern dialect.
void attachKernControl(mlir::MLIRContext *context);
void attachKernRows(mlir::MLIRContext *context);
void attachKernElementwise(mlir::MLIRContext *context);
void attachKernOneDnn(mlir::MLIRContext *context);
void attachKernAttention(mlir::MLIRContext *context);
void attachKernCaches(mlir::MLIRContext *context);
void attachKernMoves(mlir::MLIRContext *context);
void attachKernGroups(mlir::MLIRContext *context);

} // namespace transom
