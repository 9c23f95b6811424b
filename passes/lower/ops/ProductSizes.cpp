// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of caches are those of common processors, not of the one that
// compiles.
#include "passes/lower/ops/ProductSizes.h"
#include "passes/lower/ops/ColumnGroups.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// Bytes of the left operand that should stay in the second-level cache.
static constexpr int64_t kChunkBytes = 1024 * 1024;

/// Rows of a chunk where weights stay in the last-level cache since they are
/// not larger: results stay in the second one. Half where these are normalized.
static constexpr int64_t kSmallChunkRows = 85;
static constexpr int64_t kCachedWeightBytes = 16 * 1024 * 1024;

/// What a kernel takes of K at most where it multiplies bytes with AMX, which
/// reads faster than the second-level cache gives: the panel's share of it
/// stays in the first one. Not of several groups, whose sums are in memory.
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
  // Sums between blocks are in the f32 of an out, which is not the residual.
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
