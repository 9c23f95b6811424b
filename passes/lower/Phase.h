// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function of one phase while it is emitted: where its buffers, weights,
// sizes and ragged are found in the frame, and how its work is shared out.
#pragma once
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/lower/microkernel/MicroKernel.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace transom::lower {

/// What the lowering of a module knows about its entries and layer bodies.
class Program {
public:
  explicit Program(mlir::ModuleOp module);

  /// The buffer's owner: through views and from a layer body's argument to the
  /// value at the body's call site.
  mlir::Value storage(mlir::Value buffer) const;
  /// The entry that a function belongs to: itself, or its body's caller.
  mlir::func::FuncOp entryOf(mlir::func::FuncOp function) const;
  /// Index of a symbol in the frame of this entry; -1 when it has none.
  int64_t symbolIndex(mlir::func::FuncOp entry, llvm::StringRef name) const;
  /// Byte offset of a weight in the artifact.
  int64_t weightOffset(mlir::FlatSymbolRefAttr weight) const;
  /// The definition of a cache; of a layer body's parameter that of its first
  /// row, since all rows' caches are of one group.
  kern::CacheOp cache(mlir::Value cache) const;
  /// Position of a layer body's weight or cache in its row of offsets.
  int64_t rowIndex(mlir::BlockArgument parameter) const;
  /// Offsets in a row of the layer body with this weight parameter.
  int64_t rowLength(mlir::BlockArgument weight) const;
  /// All functions, bodies included, in order.
  llvm::ArrayRef<mlir::func::FuncOp> functions() const { return all; }
  /// True for the functions that layers call.
  bool isBody(mlir::func::FuncOp function) const {
    return callSites.count(function);
  }

private:
  mlir::SymbolTable symbols;
  llvm::SmallVector<mlir::func::FuncOp> all;
  llvm::DenseMap<mlir::Operation *, kern::LayersOp> callSites;
};

/// An emitter inside the function of a phase.
class PhaseEmitter : public Emitter {
public:
  PhaseEmitter(mlir::OpBuilder &builder, mlir::Location loc,
               const Program &program, mlir::func::FuncOp source,
               mlir::LLVM::LLVMFuncOp function, MicroKernels &kernels);

  MicroKernels &kernels() { return microKernels; }
  Value part() const { return partArg; }
  Value parts() const { return partsArg; }

  /// The value of a size for this call.
  Value size(const Polynomial &polynomial);
  /// Address of a buffer.
  Value pointer(Value buffer);
  /// Address of a weight.
  Value weight(Value weight);
  /// Address of a layer body's weight in the next layer; in the last layer it
  /// is that of some weight.
  Value nextRowsWeight(Value weight);
  /// The table of the blocks of a cache's group, a pointer for each 256
  /// positions.
  Value blocks(Value cache);
  /// Byte offset of a cache's layer in these blocks.
  Value offsetInBlock(Value cache);
  /// Address of a `transom_ragged_batch`.
  Value ragged(Value ragged);
  Value rowCount(Value buffer) { return size(typeOf(buffer).getRowCount()); }
  Value rowStride(Value buffer) { return size(typeOf(buffer).getRowStride()); }
  static kern::BufferType typeOf(Value buffer) {
    return llvm::cast<kern::BufferType>(buffer.getType());
  }

  /// This part's range of `count` equal pieces of work.
  std::pair<Value, Value> share(Value count);
  /// Runs `body` for each row of this part's share.
  void shareRows(Value count, Body body);
  /// Runs `body(column, mask)` for each vector of `count` columns; the mask is
  /// null for whole vectors.
  void columns(Value count, llvm::function_ref<void(Value, Value)> body);
  /// The same with carried values.
  llvm::SmallVector<Value>
  foldColumns(Value count, mlir::ValueRange init,
              llvm::function_ref<llvm::SmallVector<Value>(Value, Value,
                                                          mlir::ValueRange)>
                  body);
  /// Cuts `rows` into blocks of nearly equal height, at most a register tile's,
  /// and runs `body(first row, height)` for each.
  void tiles(Value rows, llvm::function_ref<void(Value, Value)> body,
             bool bf16 = false);

private:
  /// Emits at the top of the function, so that every later use may read it.
  Value atEntry(llvm::function_ref<Value()> emit);

  const Program &program;
  mlir::func::FuncOp source, entry;
  MicroKernels &microKernels;
  Value frame, row, partArg, partsArg;
  mlir::Operation *lastAtEntry = nullptr;
  mlir::Block *entryBlock;
  llvm::StringMap<Value> symbolValues;
  llvm::DenseMap<Value, Value> pointers;
};

/// Rows cut into blocks of nearly equal height, at most a register tile's.
class RowBlocks {
public:
  using Value = mlir::Value;
  RowBlocks(Emitter &e, Value first, Value rows, int64_t highest);

  Value count; ///< at least 1, also for no rows
  /// First row and height of a block.
  std::pair<Value, Value> at(Value block);

private:
  Emitter &e;
  Value first, height, taller;
};

/// A strided copy between two buffers' memory; strides in elements, sizes and
/// strides outermost first. The outer dimensions are shared out over parts.
struct StridedCopy {
  llvm::SmallVector<mlir::Value> sizes, sourceStrides, targetStrides;
  mlir::Value source, target;
  mlir::Type element;
};
void emitStridedCopy(PhaseEmitter &e, const StridedCopy &copy);

/// Element strides of a buffer's dimensions.
llvm::SmallVector<mlir::Value> emitStrides(PhaseEmitter &e,
                                           kern::BufferType type);

/// Offset in elements of the outer index `row` (row-major over `dims` without
/// the last) in an operand of these dims broadcast to them.
mlir::Value emitBroadcastOffset(PhaseEmitter &e, mlir::Value row,
                                llvm::ArrayRef<Polynomial> dims,
                                llvm::ArrayRef<Polynomial> operandDims,
                                const Polynomial &operandRowStride);

/// A LayerNorm or RMSNorm; the output, f32 or bf16, may be the input.
struct NormRow {
  mlir::Value input, output, gamma, beta; ///< beta may be null
  double eps;
  bool rms;
  /// The result in bf16 besides, or instead of `output`; may be null.
  mlir::Value outputBf16 = {};
};
/// Normalizes the rows from `from` to `to`.
void emitNormRows(PhaseEmitter &e, const NormRow &norm, mlir::Value from,
                  mlir::Value to);

// One function for each group of operations.
void lowerGemm(PhaseEmitter &e, kern::GemmOp op);
void lowerBatchMatmul(PhaseEmitter &e, kern::BatchMatmulOp op);
void lowerAttention(PhaseEmitter &e, kern::AttentionOp op);
void lowerPackKeys(PhaseEmitter &e, kern::PackKeysOp op);
void lowerNorm(PhaseEmitter &e, kern::NormOp op);
void lowerCast(PhaseEmitter &e, kern::CastOp op);
void lowerRopeTable(PhaseEmitter &e, kern::RopeTableOp op);
void lowerRope(PhaseEmitter &e, kern::RopeOp op);
void lowerAppend(PhaseEmitter &e, kern::AppendOp op);
void lowerSoftmax(PhaseEmitter &e, kern::SoftmaxOp op);
void lowerEmbedding(PhaseEmitter &e, kern::EmbeddingOp op);
void lowerElementwise(PhaseEmitter &e, kern::ElementwiseOp op);
void lowerPositions(PhaseEmitter &e, kern::PositionsOp op);
void lowerColumns(PhaseEmitter &e, kern::ColumnsOp op);
void lowerGatherRows(PhaseEmitter &e, kern::GatherRowsOp op);
void lowerScatterRows(PhaseEmitter &e, kern::ScatterRowsOp op);
void lowerPool(PhaseEmitter &e, kern::PoolOp op);
void lowerTranspose(PhaseEmitter &e, kern::TransposeOp op);
void lowerCopy(PhaseEmitter &e, kern::CopyOp op);
void lowerGather(PhaseEmitter &e, kern::GatherOp op);

} // namespace transom::lower
