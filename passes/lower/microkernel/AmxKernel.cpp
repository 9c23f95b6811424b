// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits an AMX kernel body. It multiplies a panel by any row count, block by
// block. The tile unit and the vector units run concurrently if their
// instructions are close together, so a block's epilogue is between the next
// block's steps along K.
#include "passes/lower/PhaseEmitter.h"
#include "passes/lower/microkernel/AmxTiles.h"
#include "passes/lower/microkernel/MicroKernelBody.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

namespace {
class AmxKernel {
public:
  AmxKernel(CodeEmitter &e, const KernelSpec &spec, const KernelArgs &args)
      : e(e), spec(spec), args(args), vectors(spec.getVectors(e.getIsa())),
        product(AmxProduct::make(e, spec, args)) {}

  void emit() {
    if (spec.store != KernelSpec::Store::Rows)
      return emitBlock();
    e.ifThen(
        vectors * kLanes <= args.columns, [&] { emitBlocks(false); },
        [&] { emitBlocks(true); });
  }

private:
  /// A single row block, whose epilogue follows the matmul.
  void emitBlock() {
    configure(args.rows);
    product->emit(args, e.i64(0), [](IndexPair) {});
    switch (spec.store) {
    case KernelSpec::Store::KeyPanels:
      return emitKeyPanels();
    case KernelSpec::Store::Scores:
      return forTiles([&](const KernelArgs &own, ArrayRef<Value> row) {
        emitStoreScores(e, spec, 1, own, row);
      });
    case KernelSpec::Store::Normalize:
      return forTiles([&](const KernelArgs &own, ArrayRef<Value> row) {
        emitStoreNormalized(e, spec, 1, own, row);
      });
    case KernelSpec::Store::Rows:
      break;
    }
  }

  /// All row blocks. `partial`: the panel has fewer columns.
  void emitBlocks(bool partial) {
    RowBlocks blocks(e.i64(0), args.rows, amxRows);
    e.forRange(blocks.count, [&](Index block) {
      auto [first, rows] = blocks.at(block);
      configure(rows);
      // In the first iteration, the previous block also has rows, but they are
      // not stored.
      Index before = max(block - 1, 0);
      auto [from, count] = blocks.at(before);
      const KernelArgs others =
          getBlock(before, from, select(0 < block, count, 0));
      product->emit(getBlock(block, first, rows), block, [&](IndexPair of) {
        storeRows(others, before, of, partial);
      });
    });
    Index last = blocks.count - 1;
    auto [first, rows] = blocks.at(last);
    storeRows(getBlock(last, first, rows), last, {e.i64(0), rows}, partial);
  }

  /// The arguments for a row block.
  KernelArgs getBlock(Index block, Index first, Index rows) {
    KernelArgs own = args;
    own.rows = rows;
    const int64_t lhsBytes = spec.rhs->getLhs().getElementBytes();
    Index lhsStride = spec.lhsStride ? e.i64(*spec.lhsStride) : args.lhsStride;
    own.lhs = e.advance(args.lhs, first * lhsStride * lhsBytes);
    own.output = e.advance(args.output,
                           first * args.outputStride * spec.getOutputBytes());
    if (spec.residual)
      own.residual = e.advance(args.residual, first * args.residualStride * 4);
    if (spec.lhsScaleStride)
      own.lhsScales =
          e.advance(args.lhsScales, first * (*spec.lhsScaleStride * 4));
    if (spec.prefetch) {
      const int64_t iterations =
          llvm::divideCeil(*spec.k, spec.rhs->getKPerIteration());
      own.prefetch =
          e.advance(args.prefetch, block * args.prefetchStride * iterations);
      own.prefetchMore = e.advance(
          args.prefetchMore, block * args.prefetchMoreStride * iterations);
    }
    return own;
  }

  /// Stores the existing rows in a range of a block.
  void storeRows(const KernelArgs &own, Index block, IndexPair rows,
                 bool partial) {
    e.forLoop(rows.first, min(rows.second, own.rows), 1, [&](Index row) {
      emitStoreRow(e, spec, own, row, partial, [&](int64_t vector) {
        return product->load(own, block, row, vector);
      });
    });
  }

  void configure(Index rows) {
    configureTiles(e, args.tileConfig, rows,
                   spec.getAmxDepth() * spec.rhs->getLhs().getElementBytes());
  }

  /// Loops over the rows in the only block; `body` gets the arguments and the
  /// vectors of a one-row tile.
  void forTiles(function_ref<void(const KernelArgs &, ArrayRef<Value>)> body) {
    const int64_t perRowBytes =
        spec.store == KernelSpec::Store::Scores ? kLanes * 4 : 4;
    e.forRange(args.rows, [&](Index row) {
      SmallVector<Value> tile;
      for (int64_t v = 0; v < vectors; ++v)
        tile.push_back(product->load(args, e.i64(0), row, v));
      KernelArgs own = args;
      own.output = e.advance(args.output,
                             row * args.outputStride * spec.getOutputBytes());
      own.perRow = e.advance(args.perRow, row * perRowBytes);
      body(own, tile);
    });
  }

  /// Stores the only block's rows into key panels, `kLanes` rows at a time.
  void emitKeyPanels() {
    Value stage = e.stackBuffer(kLanes * vectors * kLanes * 4);
    e.forLoop(e.i64(0), args.rows, kLanes, [&](Index first) {
      SmallVector<Value> tile;
      for (int64_t row = 0; row < kLanes; ++row)
        for (int64_t v = 0; v < vectors; ++v)
          tile.push_back(product->load(args, e.i64(0),
                                       min(first + row, args.rows - 1), v));
      KernelArgs own = args;
      own.perRow = e.advance(args.perRow, first * 8);
      emitStoreKeyPanels(e, spec, min(args.rows - first, kLanes), own, tile,
                         stage);
    });
  }

  CodeEmitter &e;
  const KernelSpec &spec;
  const KernelArgs &args;
  int64_t vectors; ///< per tile row
  std::unique_ptr<AmxProduct> product;
};
} // namespace

void transom::lower::emitAmxKernel(CodeEmitter &e, const KernelSpec &spec,
                                   const KernelArgs &args) {
  AmxKernel(e, spec, args).emit();
}
