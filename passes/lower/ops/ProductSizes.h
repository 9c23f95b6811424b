// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block sizes for a GEMM with a weight, chosen so that data read again is in
// the caches.
#pragma once
#include "passes/lower/ops/LowerOps.h"

namespace transom::lower {

class ProductSizes {
public:
  ProductSizes(const MicroKernels &kernels, kern::GemmOp op);

  /// Bytes per left operand element.
  int64_t getLhsBytes() const { return format.getLhs().getElementBytes(); }
  /// Whether kernels multiply with AMX.
  bool usesAmx() const { return amx; }
  /// Rows in the largest kernel.
  int64_t getMaxMr() const { return maxMr; }
  /// Left operand rows per chunk.
  int64_t getChunkRows();
  /// The same if the rows belong to one worker.
  int64_t getOwnChunkRows();
  /// Elements along K per kernel; between blocks the sums are in the out.
  int64_t getKBlock(mlir::Value out);

  /// A K block: `length` elements from `from` on.
  struct KBlock {
    Index from;
    int64_t length;
    bool isFirst, isLast;
  };
  /// Runs `body` for an out's K blocks, in ascending order.
  void forKBlocks(CodeEmitter &e, mlir::Value out,
                  llvm::function_ref<void(const KBlock &)> body);

private:
  int64_t getLongestK(mlir::Value out);
  int64_t getK();

  kern::GemmOp op;
  const OperandLowering &format; ///< the weight's lowering
  bool amx;
  int64_t maxMr;
};

} // namespace transom::lower
