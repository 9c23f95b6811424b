// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the function of one phase: where its buffers, weights, sizes and ragged
// batches are in the frame, and how its work is divided among workers.
#pragma once
#include "passes/lower/ModuleInfo.h"
#include "passes/lower/microkernel/MicroKernel.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace transom::lower {

/// How the numbers of a buffer of floats are lowered.
inline const OperandLowering &getLowering(mlir::Value buffer) {
  return OperandLowering::get(getBufferType(buffer).getFormat());
}

/// A code emitter inside the function of a phase,
/// `void (frame, offsets of the layer, worker, num_workers)`.
class PhaseEmitter : public CodeEmitter {
public:
  PhaseEmitter(mlir::OpBuilder &builder, mlir::Location loc,
               const ModuleInfo &info, mlir::func::FuncOp source,
               mlir::LLVM::LLVMFuncOp function, MicroKernels &kernels);

  MicroKernels &kernels() { return microKernels; }
  const ModuleInfo &getModuleInfo() const { return info; }
  /// The number of this worker and of all workers.
  Index worker() const { return workerArg; }
  Index numWorkers() const { return numWorkersArg; }
  /// The arguments of the function of a phase.
  llvm::SmallVector<Value> getArguments() const {
    return {frame, layerOffsets, workerArg, numWorkersArg};
  }
  /// What the address of an operand depends on: the slot of a buffer, the
  /// offset of a weight or the offset of a cache in its blocks. `layersAhead`:
  /// 1 for that of a layer body's parameter in the next layer.
  Index number(Value owner, unsigned layersAhead = 0);
  /// Makes `number` a value of the function instead.
  void setNumber(Value owner, unsigned layersAhead, Value number) {
    numbers[{owner, layersAhead}] = number;
  }

  //===--------------------------------------------------------------------===//
  // Operands. Each is read once, at the top of the function.
  //===--------------------------------------------------------------------===//

  /// The value of a size in this call.
  Index size(const Polynomial &polynomial);
  /// Stores the value of a bounded size, for the phases after this one.
  void storeSize(llvm::StringRef name, Index value);
  Index numRows(Value buffer) {
    return size(getBufferType(buffer).getRowCount());
  }
  /// The rows of a buffer for which an operation computes `out`: none where
  /// that is a result that the caller leaves out.
  Index numAskedRows(Value buffer, Value out);
  /// The last dimension of a buffer.
  Index numColumns(Value buffer) {
    return size(getBufferType(buffer).getDims().back());
  }
  /// Elements from one row to the next.
  Index rowStride(Value buffer) {
    return size(getBufferType(buffer).getRowStride());
  }
  /// Counters that are zero before and after a phase; may be null.
  Value counters();
  /// Address of a buffer.
  Value pointer(Value buffer);
  /// Address of a weight.
  Value weight(Value weight);
  /// Address of a layer body's weight in the next layer. In the last layer it
  /// is the address of some weight, which may be prefetched.
  Value nextLayersWeight(Value weight);
  /// The block table of a cache's group: one pointer per KV block.
  Value blockTable(Value cache);
  /// Byte offset of a layer's keys and values in the blocks of its cache.
  Index offsetInBlock(Value cache);
  /// Address of the `transom_ragged_batch` of a ragged batch.
  Value ragged(Value ragged);
  /// A number of a ragged batch, at `offset` of its `transom_ragged_batch`.
  Index raggedField(Value ragged, int64_t offset) {
    return loadI64(advance(this->ragged(ragged), offset));
  }
  /// A table of a ragged batch, whose address is at `offset`.
  Value raggedTable(Value ragged, int64_t offset) {
    return loadPtr(advance(this->ragged(ragged), offset));
  }
  /// A constant table of i32: the relative position of each distance
  /// key - query, from -reach to reach, with its ends repeated 16 times.
  /// Address of the entry of distance 0.
  Value positionTable(const PositionBuckets &rule);
  /// Entry `index` of a table of i32.
  Index loadI32(Value table, Index index) {
    return extendI32(load(builder().getI32Type(), advance(table, index * 4)));
  }

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  /// The range of `count` equal work items that this worker does.
  IndexPair workerRange(Index count);
  /// Runs `body` for each of this worker's items.
  void forWorkerRange(Index count, LoopBody body);
  /// Runs `body(column, mask)` for each vector of `count` columns; the mask is
  /// null for full vectors.
  void forColumns(Index count, llvm::function_ref<void(Index, Value)> body);
  /// The same with carried values.
  llvm::SmallVector<Value>
  foldColumns(Index count, mlir::ValueRange init,
              llvm::function_ref<llvm::SmallVector<Value>(Index, Value,
                                                          mlir::ValueRange)>
                  body);
  /// Divides `rows` into blocks for the micro-kernels of this right operand and
  /// runs `body(first row, number of rows)` for each.
  void forRowBlocks(Index rows, const OperandLowering &rhs,
                    llvm::function_ref<void(Index, Index)> body);

private:
  /// Emits at the top of the function, so that the value dominates all uses.
  Value atEntry(llvm::function_ref<Value()> emit);
  /// Loads a pointer of the frame.
  Value framePointer(int64_t offset) { return loadPtr(advance(frame, offset)); }

  const ModuleInfo &info;
  mlir::func::FuncOp entry;
  MicroKernels &microKernels;
  Value frame, layerOffsets;
  Index workerArg, numWorkersArg;
  mlir::Operation *lastAtEntry = nullptr;
  mlir::Block *entryBlock;
  llvm::StringMap<Value> sizes;        ///< by the text of the polynomial
  llvm::StringMap<Value> tables;       ///< of ragged batches and caches
  llvm::DenseMap<Value, Value> values; ///< addresses or offsets, by operand
  llvm::DenseMap<std::pair<Value, unsigned>, Value> numbers; ///< set ones
};

/// Rows divided into blocks of nearly equal size, at most `maxRows` each.
class RowBlocks {
public:
  RowBlocks(Index first, Index rows, int64_t maxRows);

  /// Number of blocks: at least 1, even without rows.
  Index count;
  /// First row and number of rows of a block.
  IndexPair at(Index block);

private:
  Index first, size, numLarger;
};

} // namespace transom::lower
