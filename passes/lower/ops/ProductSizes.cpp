// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cache sizes are typical for common processors, not taken from the compiling
// host.
#include "passes/lower/ops/ProductSizes.h"
#include "passes/lower/ops/ColumnGroups.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// Left operand bytes that should stay in the second-level cache.
static constexpr int64_t kChunkBytes = 1024 * 1024;

/// Rows per chunk if the weights are small enough to stay in the last-level
/// cache: results stay in the second-level cache. Half as many if the rows are
/// normalized.
static constexpr int64_t kSmallChunkRows = 85;
static constexpr int64_t kCachedWeightBytes = 16 * 1024 * 1024;

/// Max elements along K per kernel if AMX multiplies bytes, since AMX reads
/// faster than the second-level cache delivers: this part of a panel stays in
/// the first-level cache. Not used with several groups, whose sums are in
/// memory.
static constexpr int64_t kAmxKBlock = 1024;

ProductSizes::ProductSizes(const MicroKernels &kernels, kern::GemmOp op)
    : op(op), format(getWeightLowering(op)),
      amx(kernels.getIsa().amx && suitsAmx(op)),
      maxMr(amx ? amxRows : kernels.getMaxMr(format)) {}

int64_t ProductSizes::getK() { return op.getWeight().getType().getShape()[1]; }

int64_t ProductSizes::getChunkRows() {
  const int64_t longest = kern::getMaxKBlock(op.getWeight().getType());
  int64_t rows = kChunkBytes / (getLhsBytes() * std::min(getK(), longest));
  rows = std::min(rows, ColumnGroups::getMaxRows(op));
  return std::max(rows, maxMr);
}

int64_t ProductSizes::getOwnChunkRows() {
  if (amx || op.getWeight().getType().getByteSize() > kCachedWeightBytes)
    return getChunkRows();
  return std::min(getChunkRows(),
                  kSmallChunkRows / (op.getNormGamma() ? 2 : 1));
}

int64_t ProductSizes::getLongestK(Value out) {
  if (getBufferType(out).getKeyPanels())
    return getK();
  // Sums between blocks are stored in an f32 out that is not the residual.
  const bool holdsSums =
      (kern::isQuantized(out) || getBufferType(out).getElementType().isF32()) &&
      !(op.getResidual() &&
        kern::getStorage(op.getResidual()) == kern::getStorage(out));
  return amx && format.getFormat().group >= kAmxKBlock && holdsSums
             ? kAmxKBlock
             : kern::getMaxKBlock(op.getWeight().getType());
}

int64_t ProductSizes::getKBlock(Value out) {
  const int64_t blocks = llvm::divideCeil(getK(), getLongestK(out));
  return llvm::alignTo(llvm::divideCeil(getK(), blocks),
                       std::max(amx ? amxBf16Depth : 1, format.getKMultiple()));
}

void ProductSizes::forKBlocks(CodeEmitter &e, Value out,
                              function_ref<void(const KBlock &)> body) {
  const int64_t k = getK(), length = getKBlock(out),
                last = (k - 1) / length * length;
  if (last == 0)
    return body({e.i64(0), k, true, true});
  body({e.i64(0), length, true, false});
  e.forLoop(e.i64(length), e.i64(last), length,
            [&](Index from) { body({from, length, false, false}); });
  body({e.i64(last), k - last, false, true});
}
