// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs with packed weights. Rows are divided into chunks whose left operand
// stays in the second-level cache. Within a chunk, the register tiles are
// divided among the workers, column tile by column tile. A column tile is NR
// result columns over all rows in the chunk: a weight panel, or half of one.
#include "passes/Remarks.h"
#include "passes/lower/ops/ColumnGroups.h"
#include "passes/lower/ops/ProductOperands.h"
#include "passes/lower/ops/ProductSizes.h"
#include "passes/lower/ops/Rows.h"
#include "passes/lower/ops/TileQueue.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// Prefetch distance within the weights for a GEMM with few rows.
static constexpr int64_t kPrefetchDistance = 16 * 1024;

namespace {
/// One GEMM output: a range of weight columns.
struct Range {
  Value out;
  int64_t columns;     ///< existing columns
  int64_t paddedStart; ///< first column in the packed weight
};

/// This worker's tiles in one column tile: row blocks `from` to `to`.
struct Tiles {
  const Range &range;
  Index column, from, to;
  Value prefetch; ///< panel to prefetch meanwhile
  Bool streams;   ///< prefetches this panel itself, at a distance
  Bool isFirst;   ///< first of this worker's column tiles over these rows
};

/// This worker's tiles for a range over a chunk of rows. Tiles are numbered
/// column tile by column tile, `blocks.count` each.
struct TileRange {
  Index begin, end;
  int64_t numColumnTiles;
};

/// Emits one GEMM with a weight.
class GemmEmitter {
public:
  GemmEmitter(PhaseEmitter &e, kern::GemmOp op)
      : e(e), op(op), type(op.getWeight().getType()), k(type.getShape()[1]),
        operands(e, op, op.getBias()), format(operands.getFormat()),
        sizes(e.kernels(), op),
        groups(e, op, llvm::alignTo(sizes.getChunkRows(), amxRows)) {}

  void emit() {
    // With many rows, each worker owns chunks; with few rows, all workers share
    // the panels in each chunk.
    Index rows = e.numAskedRows(op.getInput(), op.getOuts()[0]);
    Index chunks = ceilDiv(rows, sizes.getChunkRows());
    ownsRows = transom::ownsRows(rows, e.numWorkers());
    Index perWorker = ceilDiv(chunks, e.numWorkers());
    // The number of small chunks is limited by the tile counters.
    const auto numRanges = static_cast<int64_t>(op.getOuts().size());
    perWorker = max(perWorker,
                    min(ceilDiv(rows, e.numWorkers() * sizes.getOwnChunkRows()),
                        tileCounters / numRanges));
    chunks = select(*ownsRows, perWorker * e.numWorkers(), chunks);
    worker = select(*ownsRows, 0, e.worker());
    numWorkers = select(*ownsRows, 1, e.numWorkers());

    // Prepare the norm and AMX.
    report();
    if (sizes.usesAmx())
      tileConfig = makeTileConfig(e);
    if (op.getNormGamma()) {
      norm = {op.getOuts()[0], op.getNormGamma(), op.getNormBeta(),
              op.getNormEps()->convertToDouble(), op.getNormRms()};
      norm->addResults(e, {op.getNormOut(), op.getNormCopy()},
                       op.getOutScales());
    }
    // Run the chunks.
    Index divisor = max(chunks, 1);
    queue.emplace(e, op, *ownsRows, perWorker * numRanges);
    queue->forOwners([&](Index owner) {
      Index first = select(*ownsRows, perWorker * owner, 0);
      Index last = select(*ownsRows, first + perWorker, chunks);
      e.forLoop(first, last, 1, [&](Index i) {
        Index from = getFirstRow(i, rows, divisor);
        Index to = getFirstRow(i + 1, rows, divisor);
        emitChunk(from, to - from, i + 1 < last,
                  {owner, (i - first) * numRanges});
      });
    });
    queue->finish();
    if (sizes.usesAmx())
      releaseTiles(e);
  }

private:
  /// The first row in a chunk. With AMX, chunks consist of whole tiles.
  Index getFirstRow(Index chunk, Index rows, Index numChunks) {
    if (!sizes.usesAmx())
      return chunk * rows / numChunks;
    Index tiles = ceilDiv(rows, amxRows);
    return min(chunk * tiles / numChunks * amxRows, rows);
  }

  /// Reports the tiles for this instruction set.
  void report() {
    const MicroKernels &kernels = e.kernels();
    int64_t used = 0, computed = 0, kBlock = 0;
    for (const Range &range : getRanges()) {
      used += range.columns;
      computed += llvm::alignTo(range.columns, kernels.getNr());
      kBlock = std::max(kBlock, sizes.getKBlock(range.out));
    }
    e.getModuleInfo().getRemarks().report(
        op, {RemarkId::ProductTiled,
             {{"isa", kernels.getIsa().name},
              {"rows", sizes.getMaxMr()},
              {"columns", kernels.getNr()},
              {"used", used},
              {"computed", computed},
              {"waste", 100 * (computed - used) / computed},
              {"k", k},
              {"k_block", kBlock},
              {"chunk", sizes.getOwnChunkRows()},
              {"own_rows", ownRows}}});
    reportWidening(e, op, format);
    if (!e.getModuleInfo().getNextProduct(op).first)
      e.getModuleInfo().getRemarks().report(
          op,
          {RemarkId::ProductFollowedByNone, {{"isa", kernels.getIsa().name}}});
  }

  SmallVector<Range> getRanges() {
    SmallVector<int64_t> starts = type.getPaddedStarts();
    SmallVector<Range> result;
    for (auto [i, out] : llvm::enumerate(op.getOuts()))
      result.push_back(
          {out,
           type.getSplits().empty() ? type.getShape()[0] : type.getSplits()[i],
           starts[i]});
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Panels
  //===--------------------------------------------------------------------===//

  /// Address of the panel that contains a column in a range.
  Value panelAt(Value weight, kern::WeightType of, const Range &range,
                Index column) {
    Index panel = (column + range.paddedStart) / panelWidth;
    return e.advance(weight, panel * of.getPanelBytes());
  }

  /// Address of the first panel in a range that this worker reads. `ownsAll`:
  /// it reads all panels.
  Value firstPanel(Value weight, kern::WeightType of, const Range &range,
                   Bool ownsAll) {
    int64_t nr = e.kernels().getNr();
    Index tile =
        e.workerRange(e.i64(llvm::divideCeil(range.columns, nr))).first;
    return panelAt(weight, of, range, select(ownsAll, 0, tile * nr));
  }

  /// Address of the panel that this worker reads after its last one: its first
  /// one again if `more` rows remain, otherwise the next GEMM's first panel.
  Value panelAfterLast(Bool more, const Range &range) {
    Value again = firstPanel(e.weight(op.getWeight()), type, range, *ownsRows);
    auto [next, isInNextLayer] = e.getModuleInfo().getNextProduct(op);
    if (!next)
      return again;
    Value weight = isInNextLayer ? e.nextLayersWeight(next.getWeight())
                                 : e.weight(next.getWeight());
    kern::WeightType of = next.getWeight().getType();
    int64_t columns =
        of.getSplits().empty() ? of.getShape()[0] : of.getSplits()[0];
    Bool ownsAll =
        transom::ownsRows(e.numRows(next.getInput()), e.numWorkers());
    return e.select(more, again,
                    firstPanel(weight, of, {Value(), columns, 0}, ownsAll));
  }

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  /// Emits a row chunk; `more`: another one follows.
  void emitChunk(Index first, Index rows, Bool more,
                 TileQueue::Counter counter) {
    SmallVector<Range> ranges = getRanges();
    for (auto [i, range] : llvm::enumerate(ranges)) {
      Value next = i + 1 < ranges.size()
                       ? firstPanel(e.weight(op.getWeight()), type,
                                    ranges[i + 1], *ownsRows)
                       : panelAfterLast(more, ranges[0]);
      emitTiles(range, first, rows, next,
                {counter.owner, counter.number + int64_t(i)});
    }
  }

  /// Emits all tiles for a column range over a row chunk: column tile by column
  /// tile, then by K block, then by row block.
  void emitTiles(const Range &range, Index firstRow, Index rows, Value next,
                 TileQueue::Counter counter) {
    // Divide the tiles among the workers.
    int64_t nr = e.kernels().getNr();
    int64_t numColumnTiles = llvm::divideCeil(range.columns, nr);
    RowBlocks blocks(firstRow, rows, sizes.getMaxMr());
    firstOfChunk = firstRow;
    Index count = min(blocks.count, rows) * numColumnTiles;
    IndexPair share = getTileRange(count, numColumnTiles);
    Index begin = share.first, end = share.second;
    Index endTile = ceilDiv(end, blocks.count);

    auto emitColumnTile = [&](Index columnTile) {
      // Choose the prefetch address: with a single row block, this panel at a
      // distance, otherwise the next panel.
      Index before = columnTile * blocks.count, column = columnTile * nr;
      Bool isLast = columnTile + 1 == endTile;
      Bool streams = logicalAnd(blocks.count == 1, columnTile + 1 < endTile);
      Index distance = select(streams, kPrefetchDistance, type.getPanelBytes());
      Value here = panelAt(e.weight(op.getWeight()), type, range, column);

      Index from = max(begin - before, 0), to = min(end - before, blocks.count);
      Value prefetch = e.select(isLast, next, e.advance(here, distance));
      Bool isFirst = columnTile == begin / blocks.count;
      Tiles tiles{range, column, from, to, prefetch, streams, isFirst};
      emitKBlocks(tiles, blocks);
      if (op.getNormGamma())
        emitNorms(tiles, blocks, {begin, end, numColumnTiles}, before);
    };
    // Run the column tiles, in groups if there are any.
    const int64_t perGroup = groups.getNumTiles();
    if (!perGroup)
      return queue->forTiles(counter, begin / blocks.count, endTile,
                             emitColumnTile);
    auto emitGroup = [&](Index group) {
      Index first = group * perGroup;
      e.forLoop(first, min(first + perGroup, endTile), 1, emitColumnTile);
      groups.finish(group, {firstRow, firstRow + rows});
    };
    queue->forTiles(counter, begin / blocks.count / perGroup,
                    ceilDiv(endTile, perGroup), emitGroup);
  }

  /// This worker's tile range. One worker computes all tiles in a column group.
  IndexPair getTileRange(Index count, int64_t numColumnTiles) {
    const int64_t perGroup = groups.getNumTiles();
    auto border = [&](Index of) {
      if (!perGroup)
        return count * of / numWorkers;
      int64_t numGroups = llvm::divideCeil(numColumnTiles, perGroup);
      Index first = e.i64(numGroups) * of / numWorkers * perGroup;
      return min(first * (count / numColumnTiles), count);
    };
    return {border(worker), border(worker + 1)};
  }

  /// Emits the tiles in a column tile, K block by K block.
  void emitKBlocks(const Tiles &tiles, RowBlocks &blocks) {
    auto emitKBlock = [&](const ProductSizes::KBlock &kBlock) {
      KernelSpec spec =
          getSpec(tiles.range, kBlock.length, kBlock.isFirst, kBlock.isLast);
      auto emitCall = [&](Index block, Index rows) {
        auto [row, numRows] = blocks.at(block);
        if (norm && kBlock.isFirst)
          prefetchNormalized(row, rows, tiles.column);
        KernelArgs args =
            getArguments(tiles.range, row, tiles.column, kBlock.from);
        setPrefetch(args, tiles, blocks, block, numRows, kBlock.from,
                    kBlock.length);
        e.kernels().call(e, spec, rows, args);
      };
      if (!spec.takesManyRows())
        return e.forLoop(tiles.from, tiles.to, 1, [&](Index block) {
          emitCall(block, blocks.at(block).second);
        });
      e.ifThen(tiles.from < tiles.to, [&] {
        auto [last, numLast] = blocks.at(tiles.to - 1);
        emitCall(tiles.from, last + numLast - blocks.at(tiles.from).first);
      });
    };
    sizes.forKBlocks(e, tiles.range.out, emitKBlock);
  }

  //===--------------------------------------------------------------------===//
  // The kernel and its arguments
  //===--------------------------------------------------------------------===//

  /// The kernel for `length` elements along K. The first one begins with the
  /// bias, the last one ends with the epilogue.
  KernelSpec getSpec(const Range &range, int64_t length, bool isFirst,
                     bool isLast) {
    KernelSpec spec = operands.getSpec(length, isFirst);
    spec.out = &groups.getLowering(range.out);
    spec.prefetch = true;
    spec.amx = sizes.usesAmx();
    if (isLast) {
      spec.activation = op.getActivation();
      spec.glu = op.getGlu();
      spec.residual = static_cast<bool>(op.getResidual());
    }
    if (getBufferType(range.out).getKeyPanels())
      spec.store = KernelSpec::Store::KeyPanels;
    return spec;
  }

  /// The kernel arguments for a tile, from `from` on along K.
  KernelArgs getArguments(const Range &range, Index row, Index column,
                          Index from) {
    KernelArgs args;
    args.tileConfig = tileConfig;
    operands.setRows(args, row, from);
    Index packed = column + range.paddedStart;
    operands.setPanel(args,
                      panelAt(e.weight(op.getWeight()), type, range, column),
                      packed % panelWidth, from);
    if (op.getBias())
      args.bias = e.advance(e.weight(op.getBias()), packed * 4);
    args.columns = e.i64(range.columns) - column;

    // The output: key panels or rows.
    kern::BufferType outType = getBufferType(range.out);
    int64_t outBytes = outType.getElementBytes();
    if (outType.getKeyPanels()) {
      args.outputStride = e.i64(range.columns * panelWidth);
      args.output =
          e.advance(e.pointer(range.out), column * (panelWidth * outBytes));
      Value positions = e.raggedTable(
          op.getRagged(), offsetof(transom_ragged_batch, token_key));
      args.perRow = e.advance(positions, row * 8);
    } else if (Index first = op.getGlu() ? column / 2 : column;
               groups.isStaged()) {
      args.outputStride = e.i64(groups.getStagedStride());
      args.output = groups.getStaged(row - *firstOfChunk, first);
    } else {
      args.outputStride = e.rowStride(range.out);
      args.output = e.advance(e.pointer(range.out),
                              (row * args.outputStride + first) * outBytes);
    }
    if (op.getResidual()) {
      args.residualStride = e.rowStride(op.getResidual());
      args.residual = e.advance(e.pointer(op.getResidual()),
                                (row * args.residualStride + column) * 4);
    }
    return args;
  }

  /// Sets the prefetch streams for a tile's kernel. The row blocks of all tiles
  /// in a panel together prefetch the next panel, one share each; a single
  /// block prefetches its own panel. In a worker's first panel, the second
  /// stream prefetches the next block's rows; otherwise it prefetches the other
  /// half of each line in the first stream.
  void setPrefetch(KernelArgs &args, const Tiles &tiles, RowBlocks &blocks,
                   Index block, Index numRows, Index from, int64_t length) {
    const int64_t line = format.getIterationBytes();
    int64_t tilesPerPanel = panelWidth / e.kernels().getNr();
    int64_t iterations = llvm::divideCeil(length, format.getKPerIteration());

    // This tile's share of the panel.
    Index shares = select(tiles.streams, 1, blocks.count * tilesPerPanel);
    Index tile = tiles.column / e.kernels().getNr() % tilesPerPanel;
    Index share = select(tiles.streams, 0, tile * blocks.count + block);
    args.prefetchStride = (shares + (line - 1)) / shares;
    Index ahead = from / format.getKPerIteration() * line +
                  share * args.prefetchStride * iterations;
    args.prefetch = e.advance(tiles.prefetch, ahead);

    // The next block's rows, if there is one.
    Index rowBytes = args.lhsStride * sizes.getLhsBytes();
    Value nextRows = e.advance(args.lhs, numRows * rowBytes);
    Bool fetchesRows = logicalAnd(tiles.isFirst, 1 < blocks.count);
    args.prefetchMore =
        e.select(fetchesRows, nextRows, e.advance(args.prefetch, line / 2));
    args.prefetchMoreStride =
        select(fetchesRows, ceilDiv(numRows * rowBytes, iterations),
               args.prefetchStride);
  }

  //===--------------------------------------------------------------------===//
  // The fused norm
  //===--------------------------------------------------------------------===//

  /// Normalizes the row blocks for which this worker's last tile is in this
  /// column tile. `before`: the number of tiles before the column tile.
  void emitNorms(const Tiles &tiles, RowBlocks &blocks, const TileRange &range,
                 Index before) {
    e.forLoop(tiles.from, tiles.to, 1, [&](Index block) {
      Index tile = before + block;
      Bool isLast = range.end <= tile + blocks.count;
      Index all = (tile - range.begin) / blocks.count + 1;
      Index numDone = select(isLast, all, 0);
      if (auto isShared = queue->isShared())
        numDone = select(*isShared, 1, numDone);
      e.ifThen(0 < numDone, [&] {
        auto [row, numRows] = blocks.at(block);
        emitNorm(row, numRows, numDone, range.numColumnTiles);
      });
    });
  }

  /// Prefetches a tile's columns in the rows that the norm will write.
  void prefetchNormalized(Index first, Index rows, Index column) {
    for (Value out : norm->outs) {
      const int64_t bytes =
          e.kernels().getNr() * getBufferType(out).getElementBytes();
      e.forRange(rows, [&](Index row) {
        Value line = getRow(e, out, first + row).at(column);
        for (int64_t at = 0; at < bytes; at += 64)
          e.prefetch(e.advance(line, at));
      });
    }
  }

  /// Counts the finished tiles in a row block. A worker adds its tiles once,
  /// since an atomic addition waits for all stores before it, unless tiles are
  /// shared and their number is unknown. The worker that completes the count
  /// resets the counter and normalizes the block.
  void emitNorm(Index row, Index numRows, Index numDone, int64_t numTiles) {
    Value counter = e.advance(e.pointer(op.getNormCounters()), row * 8);
    Index before = e.atomicAdd(counter, numDone);
    e.ifThen(before + numDone == numTiles, [&] {
      e.store(e.i64(0), counter);
      emitNormRows(e, *norm, row, row + numRows);
    });
  }

  PhaseEmitter &e;
  kern::GemmOp op;
  kern::WeightType type;
  int64_t k;
  ProductOperands operands;
  const OperandLowering &format; ///< the weight's lowering
  std::optional<TileQueue> queue;
  std::optional<Bool> ownsRows; ///< whether this worker owns chunks
  Value tileConfig;             ///< see KernelArgs
  std::optional<NormRows> norm;
  ProductSizes sizes;
  ColumnGroups groups;
  std::optional<Index> firstOfChunk; ///< first row in the chunk
  Index worker, numWorkers; ///< workers that share the tiles in a chunk
};
} // namespace

static void lowerGemm(PhaseEmitter &e, kern::GemmOp op) {
  if (op.getColumns())
    emitGemmColumns(e, op);
  else
    GemmEmitter(e, op).emit();
}

void lower::addGemmLowerings(Lowerings &lowerings) {
  lowerings.add<kern::GemmOp, lowerGemm>();
}
