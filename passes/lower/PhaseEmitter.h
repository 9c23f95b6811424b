// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the function for one phase: finds buffers, weights, sizes and ragged
// batches in the frame, and divides the work among workers.
#pragma once
#include "passes/lower/ModuleInfo.h"
#include "passes/lower/microkernel/MicroKernel.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace transom::lower {

/// The lowering for the elements in a float buffer.
inline const OperandLowering &getLowering(mlir::Value buffer) {
  return OperandLowering::get(getBufferType(buffer).getFormat());
}

/// A code emitter inside a phase function, `void (frame, layer offsets, worker,
/// num_workers)`.
class PhaseEmitter : public CodeEmitter {
public:
  PhaseEmitter(mlir::OpBuilder &builder, mlir::Location loc,
               const ModuleInfo &info, mlir::func::FuncOp source,
               mlir::LLVM::LLVMFuncOp function, MicroKernels &kernels);

  MicroKernels &kernels() { return microKernels; }
  const ModuleInfo &getModuleInfo() const { return info; }
  /// The index of this worker, and the worker count.
  Index worker() const { return workerArg; }
  Index numWorkers() const { return numWorkersArg; }
  /// The phase function's arguments.
  llvm::SmallVector<Value> getArguments() const {
    return {frame, layerOffsets, workerArg, numWorkersArg};
  }
  /// The integer on which an operand address depends: a buffer slot, a weight
  /// offset, or a cache offset in its blocks. `layersAhead`: 1 for a layer body
  /// parameter in the next layer.
  Index number(Value owner, unsigned layersAhead = 0);
  /// Uses a function value for `number` instead.
  void setNumber(Value owner, unsigned layersAhead, Value number) {
    numbers[{owner, layersAhead}] = number;
  }

  //===--------------------------------------------------------------------===//
  // Operands. Each is read once, at the top of the function.
  //===--------------------------------------------------------------------===//

  /// Evaluates a size for this call.
  Index size(const Polynomial &polynomial);
  /// Stores a bounded size, for later phases.
  void storeSize(llvm::StringRef name, Index value);
  Index numRows(Value buffer) {
    return size(getBufferType(buffer).getRowCount());
  }
  /// The buffer rows for which an operation computes `out`: none if the caller
  /// omits that result.
  Index numAskedRows(Value buffer, Value out);
  /// The last buffer dimension.
  Index numColumns(Value buffer) {
    return size(getBufferType(buffer).getDims().back());
  }
  /// Elements from one row to the next.
  Index rowStride(Value buffer) {
    return size(getBufferType(buffer).getRowStride());
  }
  /// Counters that are zero before and after a phase; may be null.
  Value counters();
  /// Buffer address.
  Value pointer(Value buffer);
  /// Weight address.
  Value weight(Value weight);
  /// Address that a layer body's weight has in the next layer. In the last
  /// layer, the address of any weight, valid for prefetching.
  Value nextLayersWeight(Value weight);
  /// The block table for a cache group: one pointer per KV block.
  Value blockTable(Value cache);
  /// Byte offset in the cache blocks for a layer's keys and values.
  Index offsetInBlock(Value cache);
  /// `transom_ragged_batch` address.
  Value ragged(Value ragged);
  /// An i64 field in a ragged batch, at `offset` in its `transom_ragged_batch`.
  Index raggedField(Value ragged, int64_t offset) {
    return loadI64(advance(this->ragged(ragged), offset));
  }
  /// A table in a ragged batch, whose address is at `offset`.
  Value raggedTable(Value ragged, int64_t offset) {
    return loadPtr(advance(this->ragged(ragged), offset));
  }
  /// A constant i32 table with the relative position for each distance key -
  /// query, from -reach to reach, and its ends repeated 16 times. Returns the
  /// address for distance 0.
  Value positionTable(const PositionBuckets &rule);
  /// Entry `index` in an i32 table.
  Index loadI32(Value table, Index index) {
    return extendI32(load(builder().getI32Type(), advance(table, index * 4)));
  }

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  /// This worker's range among `count` equal work items.
  IndexPair workerRange(Index count);
  /// Runs `body` for each of this worker's items.
  void forWorkerRange(Index count, LoopBody body);
  /// Runs `body(column, mask)` for each vector in `count` columns; the mask is
  /// null for full vectors.
  void forColumns(Index count, llvm::function_ref<void(Index, Value)> body);
  /// The same with carried values.
  llvm::SmallVector<Value>
  foldColumns(Index count, mlir::ValueRange init,
              llvm::function_ref<llvm::SmallVector<Value>(Index, Value,
                                                          mlir::ValueRange)>
                  body);
  /// Divides `rows` into blocks for the micro-kernels with this right operand
  /// and runs `body(first row, row count)` for each.
  void forRowBlocks(Index rows, const OperandLowering &rhs,
                    llvm::function_ref<void(Index, Index)> body);

private:
  /// Emits at the function's top, so that the value dominates all uses.
  Value atEntry(llvm::function_ref<Value()> emit);
  /// Loads a frame pointer.
  Value framePointer(int64_t offset) { return loadPtr(advance(frame, offset)); }

  const ModuleInfo &info;
  mlir::func::FuncOp entry;
  MicroKernels &microKernels;
  Value frame, layerOffsets;
  Index workerArg, numWorkersArg;
  mlir::Operation *lastAtEntry = nullptr;
  mlir::Block *entryBlock;
  llvm::StringMap<Value> sizes;        ///< by the polynomial's string
  llvm::StringMap<Value> tables;       ///< ragged batch and cache tables
  llvm::DenseMap<Value, Value> values; ///< addresses or offsets, by operand
  /// set by `setNumber`
  llvm::DenseMap<std::pair<Value, unsigned>, Value> numbers;
};

/// Rows divided into blocks with nearly equal sizes up to `maxRows`.
class RowBlocks {
public:
  RowBlocks(Index first, Index rows, int64_t maxRows);

  /// Block count: at least 1, even without rows.
  Index count;
  /// A block's first row and row count.
  IndexPair at(Index block);

private:
  Index first, size, numLarger;
};

} // namespace transom::lower
