// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowerings of kern operations: each is a function that emits this worker's
// share of the operation into the function of its phase. Each source adds its
// own.
#pragma once
#include "passes/lower/PhaseEmitter.h"
#include <functional>

namespace transom::lower {

/// The lowering of each kern operation.
class Lowerings {
public:
  /// Makes a function the lowering of an operation.
  template <typename OpT> void add(void (*lower)(PhaseEmitter &, OpT)) {
    byOperation[mlir::TypeID::get<OpT>()] = [lower](PhaseEmitter &e,
                                                    mlir::Operation &op) {
      lower(e, llvm::cast<OpT>(op));
    };
  }
  /// Emits an operation; an error for one without a lowering.
  mlir::LogicalResult lower(PhaseEmitter &e, mlir::Operation &op) const;

private:
  using Lower = std::function<void(PhaseEmitter &, mlir::Operation &)>;
  llvm::DenseMap<mlir::TypeID, Lower> byOperation;
};

/// Add the lowerings of a source.
void populateAttentionLowerings(Lowerings &lowerings);
void populateBatchMatmulLowerings(Lowerings &lowerings);
void populateCacheLowerings(Lowerings &lowerings);
void populateElementwiseLowerings(Lowerings &lowerings);
void populateGemmLowerings(Lowerings &lowerings);
void populateGroupGemmLowerings(Lowerings &lowerings);
void populateGroupLowerings(Lowerings &lowerings);
void populateMoveLowerings(Lowerings &lowerings);
void populatePackKeysLowerings(Lowerings &lowerings);
void populateRopeLowerings(Lowerings &lowerings);
void populateRowLowerings(Lowerings &lowerings);

/// A LayerNorm or RMSNorm of rows.
struct NormRows {
  mlir::Value input;
  mlir::Value output;      ///< f32 or bf16; may be the input
  mlir::Value gamma, beta; ///< beta may be null
  double eps;
  bool rms;
  mlir::Value outputBf16 = {}; ///< the result in bf16 as well; may be null
};
/// Emits the normalization of the rows `from` to `to`.
void emitNormRows(PhaseEmitter &e, const NormRows &norm, Index from, Index to);

} // namespace transom::lower
