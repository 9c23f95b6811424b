// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowering of each kern operation: each function emits this worker's share
// of the operation into the function of its phase.
#pragma once
#include "passes/lower/PhaseEmitter.h"

namespace transom::lower {

// Matrix products and attention.
void lowerOp(PhaseEmitter &e, kern::GemmOp op);
void lowerOp(PhaseEmitter &e, kern::BatchMatmulOp op);
void lowerOp(PhaseEmitter &e, kern::AttentionOp op);

// Rows: norms, casts, softmax, embeddings, elementwise regions.
void lowerOp(PhaseEmitter &e, kern::NormOp op);
void lowerOp(PhaseEmitter &e, kern::CastOp op);
void lowerOp(PhaseEmitter &e, kern::SoftmaxOp op);
void lowerOp(PhaseEmitter &e, kern::EmbeddingOp op);
void lowerOp(PhaseEmitter &e, kern::ElementwiseOp op);

// Decoders: rotary position embeddings, the KV cache.
void lowerOp(PhaseEmitter &e, kern::RopeTableOp op);
void lowerOp(PhaseEmitter &e, kern::RopeOp op);
void lowerOp(PhaseEmitter &e, kern::AppendOp op);

// Groups of tokens.
void lowerOp(PhaseEmitter &e, kern::GroupTokensOp op);
void lowerOp(PhaseEmitter &e, kern::CombineGroupsOp op);

// Data movement.
void lowerOp(PhaseEmitter &e, kern::PositionsOp op);
void lowerOp(PhaseEmitter &e, kern::ColumnsOp op);
void lowerOp(PhaseEmitter &e, kern::GatherRowsOp op);
void lowerOp(PhaseEmitter &e, kern::ScatterRowsOp op);
void lowerOp(PhaseEmitter &e, kern::PoolOp op);
void lowerOp(PhaseEmitter &e, kern::PackKeysOp op);
void lowerOp(PhaseEmitter &e, kern::TransposeOp op);
void lowerOp(PhaseEmitter &e, kern::CopyOp op);
void lowerOp(PhaseEmitter &e, kern::GatherOp op);

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
