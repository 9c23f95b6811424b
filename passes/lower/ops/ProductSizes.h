// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of a product with a weight is computed at a time, so that what is
// read again is in the caches.
#pragma once
#include "passes/lower/ops/LowerOps.h"

namespace transom::lower {

class ProductSizes {
public:
  ProductSizes(const MicroKernels &kernels, kern::GemmOp op);

  /// Bytes of an element of the left operand.
  int64_t getLhsBytes() const { return format.getLhs().getElementBytes(); }
  /// Whether kernels multiply with AMX.
  bool usesAmx() const { return amx; }
  /// Rows of the largest kernel.
  int64_t getMaxMr() const { return maxMr; }
  /// Rows of the left operand in a chunk.
  int64_t getChunkRows();
  /// The same where they are a worker's own.
  int64_t getOwnChunkRows();
  /// What a kernel takes of K; between blocks the sums are in the out.
  int64_t getKBlock(mlir::Value out);

  /// A block of K: `length` numbers from `from` on.
  struct KBlock {
    Index from;
    int64_t length;
    bool isFirst, isLast;
  };
  /// Runs `body` for the blocks of K of an out, in ascending order.
  void forKBlocks(CodeEmitter &e, mlir::Value out,
                  llvm::function_ref<void(const KBlock &)> body);

private:
  int64_t getLongestK(mlir::Value out);
  int64_t getK();

  kern::GemmOp op;
  const OperandLowering &format; ///< of the weight
  bool amx;
  int64_t maxMr;
};

} // namespace transom::lower
