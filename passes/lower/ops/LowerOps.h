// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowerings of kern operations: each is a function that emits this worker's
// share of the operation into the function of its phase. Each source adds its
// own.
#pragma once
#include "passes/lower/PhaseEmitter.h"

namespace transom::lower {

/// The function that emits each operation.
class Lowerings {
public:
  using Function = void (*)(PhaseEmitter &, mlir::Operation &);

  /// Operations of this type are emitted by `lower`.
  template <typename OpT, void (*lower)(PhaseEmitter &, OpT)> void add() {
    functions[mlir::TypeID::get<OpT>()] = [](PhaseEmitter &e,
                                             mlir::Operation &op) {
      lower(e, llvm::cast<OpT>(op));
    };
  }
  /// Null for an operation that no function emits.
  Function lookup(mlir::Operation &op) const {
    return functions.lookup(op.getName().getTypeID());
  }

private:
  llvm::DenseMap<mlir::TypeID, Function> functions;
};

// One function for each source of lowerings.
void addAttentionLowerings(Lowerings &lowerings);
void addBatchMatmulLowerings(Lowerings &lowerings);
void addCacheLowerings(Lowerings &lowerings);
void addElementwiseLowerings(Lowerings &lowerings);
void addGemmLowerings(Lowerings &lowerings);
void addGroupGemmLowerings(Lowerings &lowerings);
void addGroupLowerings(Lowerings &lowerings);
void addHeadGemmLowerings(Lowerings &lowerings);
void addMoveLowerings(Lowerings &lowerings);
void addPackKeysLowerings(Lowerings &lowerings);
void addRopeLowerings(Lowerings &lowerings);
void addRowLowerings(Lowerings &lowerings);

/// The largest magnitude of `count` numbers, which `load` gives 16 at a time by
/// column and mask; and zero, or NaN if a number is not finite.
std::pair<mlir::Value, mlir::Value>
emitLargest(PhaseEmitter &e, int64_t count,
            llvm::function_ref<mlir::Value(Index, mlir::Value)> load);
/// Reports that an operation widens numbers of this format before it multiplies
/// them, if it does so for want of an instruction.
void reportWidening(PhaseEmitter &e, mlir::Operation *op,
                    const OperandLowering &format);
/// The lowering of a product's weight beside its input.
const OperandLowering &getWeightLowering(kern::WeightProductOp op);
/// True if AMX multiplies them.
bool suitsAmx(kern::WeightProductOp op);
/// Emits a product with listed columns of its weight.
void emitGemmColumns(PhaseEmitter &e, kern::GemmOp op);
/// The tiles of a product of several groups of rows or of heads.
struct GroupTiles {
  int64_t groups;
  int64_t rows;    ///< of the largest tile
  int64_t columns; ///< of the weight of a group
};
void reportGroupTiles(PhaseEmitter &e, mlir::Operation *op,
                      const OperandLowering &format, const GroupTiles &tiles);

/// Rows of whole numbers and their scales, as `kern.quantize` writes them; both
/// may be null.
struct QuantizedRows {
  mlir::Value numbers, scales;

  /// Columns of a group.
  int64_t getGroup() const {
    return *kern::findQuantizedGroup(numbers, scales);
  }
  int64_t getColumns() const {
    return *getBufferType(numbers).getDims().back().constant();
  }
};
/// Quantizes a group of so many columns of a row; `in` are their f32 in memory.
void emitQuantizedGroup(PhaseEmitter &e, const QuantizedRows &rows, Index row,
                        Index group, int64_t columns, mlir::Value in);
/// Runs `body(group, columns)` for each group of a row.
void forQuantizedGroups(PhaseEmitter &e, const QuantizedRows &rows,
                        llvm::function_ref<void(Index, int64_t)> body);

/// A LayerNorm or RMSNorm of rows.
struct NormRows {
  mlir::Value input, gamma, beta; ///< beta may be null
  double eps;
  bool rms;
  llvm::SmallVector<mlir::Value, 2> outs; ///< f32 or bf16; may be the input
  QuantizedRows quantized;
  mlir::Value stage; ///< a group of columns of some rows that is quantized

  /// Adds results, of which some may be null. Not for use while the body of a
  /// loop is built, since it may take memory on the stack.
  void addResults(PhaseEmitter &e, llvm::ArrayRef<mlir::Value> results,
                  mlir::Value scales);
};
/// Emits the normalization of the rows `from` to `to`.
void emitNormRows(PhaseEmitter &e, const NormRows &norm, Index from, Index to);

/// Emits the summary of a group of columns of one row; see `kern.row_summary`.
void emitRowSummary(PhaseEmitter &e, mlir::Value input, mlir::ValueRange outs,
                    Index row, Index group);
/// Whether the caller gives memory for a summary.
mlir::Value emitIsSummaryAsked(PhaseEmitter &e, mlir::ValueRange outs);

} // namespace transom::lower
