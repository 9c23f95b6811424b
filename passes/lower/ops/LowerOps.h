// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowerings for kern operations: each is a function that emits this
// worker's share into its phase function. Each source file adds its lowerings.
#pragma once
#include "passes/lower/PhaseEmitter.h"

namespace transom::lower {

/// Lowering functions by operation.
class Lowerings {
public:
  using Function = void (*)(PhaseEmitter &, mlir::Operation &);

  /// Registers `lower` for an operation type.
  template <typename OpT, void (*lower)(PhaseEmitter &, OpT)> void add() {
    functions[mlir::TypeID::get<OpT>()] = [](PhaseEmitter &e,
                                             mlir::Operation &op) {
      lower(e, llvm::cast<OpT>(op));
    };
  }
  /// Null if no function emits the operation.
  Function lookup(mlir::Operation &op) const {
    return functions.lookup(op.getName().getTypeID());
  }

private:
  llvm::DenseMap<mlir::TypeID, Function> functions;
};

// One function for each source file with lowerings.
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

/// The largest magnitude among `count` elements, which `load` returns 16 at a
/// time by column and mask; and zero, or NaN if an element is not finite.
std::pair<mlir::Value, mlir::Value>
emitLargest(PhaseEmitter &e, int64_t count,
            llvm::function_ref<mlir::Value(Index, mlir::Value)> load);
/// Reports that an operation widens elements in this format before the
/// multiplication because an instruction is missing, if it does so.
void reportWidening(PhaseEmitter &e, mlir::Operation *op,
                    const OperandLowering &format);
/// The lowering for a GEMM weight, given the input type.
const OperandLowering &getWeightLowering(kern::WeightProductOp op);
/// True if AMX multiplies them.
bool suitsAmx(kern::WeightProductOp op);
/// Emits a GEMM with listed weight columns.
void emitGemmColumns(PhaseEmitter &e, kern::GemmOp op);
/// The tiles in a GEMM with several row groups or heads.
struct GroupTiles {
  int64_t groups;
  int64_t rows;    ///< in the largest tile
  int64_t columns; ///< in a group's weight
};
void reportGroupTiles(PhaseEmitter &e, mlir::Operation *op,
                      const OperandLowering &format, const GroupTiles &tiles);

/// Quantized rows and their scales, as `kern.quantize` writes them; both may be
/// null.
struct QuantizedRows {
  mlir::Value numbers, scales;

  /// Columns per group.
  int64_t getGroup() const {
    return *kern::findQuantizedGroup(numbers, scales);
  }
  int64_t getColumns() const {
    return *getBufferType(numbers).getDims().back().constant();
  }
};
/// Quantizes a group with `columns` columns in a row; `in` points to their f32.
void emitQuantizedGroup(PhaseEmitter &e, const QuantizedRows &rows, Index row,
                        Index group, int64_t columns, mlir::Value in);
/// Runs `body(group, columns)` for each group in a row.
void forQuantizedGroups(PhaseEmitter &e, const QuantizedRows &rows,
                        llvm::function_ref<void(Index, int64_t)> body);

/// A LayerNorm or RMSNorm on rows.
struct NormRows {
  mlir::Value input, gamma, beta; ///< beta may be null
  double eps;
  bool rms;
  llvm::SmallVector<mlir::Value, 2> outs; ///< f32 or bf16; may be the input
  QuantizedRows quantized;
  mlir::Value stage; ///< a group of columns in some rows that is quantized

  /// Adds results, some of which may be null. Do not use it while a loop body
  /// is built, since it may allocate stack memory.
  void addResults(PhaseEmitter &e, llvm::ArrayRef<mlir::Value> results,
                  mlir::Value scales);
};
/// Emits the normalization of rows `from` to `to`.
void emitNormRows(PhaseEmitter &e, const NormRows &norm, Index from, Index to);

/// Emits the summary for a column group in one row; see `kern.row_summary`.
void emitRowSummary(PhaseEmitter &e, mlir::Value input, mlir::ValueRange outs,
                    Index row, Index group);
/// Whether the caller requests a summary by passing memory for it.
mlir::Value emitIsSummaryAsked(PhaseEmitter &e, mlir::ValueRange outs);

} // namespace transom::lower
