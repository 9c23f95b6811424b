// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with packed weights. Rows are cut into chunks whose operand stays
// in the second-level cache; within a chunk the register tiles, panel by
// panel, are shared out over parts.
#include "passes/lower/Phase.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// From this number of rows a part on, parts have rows of their own: each reads
/// all the weights then, but its rows stay in its caches.
static constexpr int64_t kOwnRows = 64;

/// Bytes of the left operand that shall stay in the second-level cache.
static constexpr int64_t kChunkBytes = 1024 * 1024;

/// How far ahead of itself a product with few rows reads its weights.
static constexpr int64_t kStreamAhead = 16 * 1024;

static std::optional<int64_t> constantStride(kern::BufferType type) {
  return type.getRowStride().constant();
}

namespace {
/// One output of a product: a range of the weight's columns.
struct Range {
  Value out;
  int64_t columns;     ///< columns that exist
  int64_t paddedStart; ///< first column in the packed weight
};

/// The tiles of one panel that a part has: blocks `from` to `to`.
struct Tiles {
  const Range &range;
  Value column, from, to;
  Value ahead;   ///< the panel to fetch meanwhile
  Value streams; ///< whether that is this one, a little further on
  Value isFirst; ///< of a part's panels over these rows
};

/// The product whose weight is read next: of a later phase, or the body's first
/// one, with the weights of the next row of layers. Null when there is none.
std::pair<kern::GemmOp, bool> followingProduct(kern::GemmOp op) {
  auto firstOf = [](Operation *phase) {
    kern::GemmOp first;
    phase->walk([&](kern::GemmOp gemm) {
      first = gemm;
      return WalkResult::interrupt();
    });
    return first;
  };
  auto phase = op->getParentOfType<kern::PhaseOp>();
  for (Operation *other = phase->getNextNode(); other;
       other = other->getNextNode())
    if (kern::GemmOp next = firstOf(other))
      return {next, false};
  kern::GemmOp first = firstOf(phase->getParentOp());
  bool inRow = isa<BlockArgument>(first.getWeight());
  return {inRow ? first : kern::GemmOp(), true};
}

/// Emits one product with a weight.
class GemmPhase {
public:
  GemmPhase(PhaseEmitter &e, kern::GemmOp op)
      : e(e), op(op), type(op.getWeight().getType()), k(type.getShape()[1]),
        bf16(type.isBf16()) {}

  /// Many rows: each part has chunks of its own. Few: the parts share the
  /// panels of a chunk.
  void emit() {
    Value rows = e.rowCount(op.getInput());
    Value chunks = e.ceilDiv(rows, chunkRows());
    byRows = ownsRows(rows);
    Value perPart = e.div(e.add(chunks, e.sub(e.parts(), e.i64(1))), e.parts());
    chunks = e.select(byRows, e.mul(perPart, e.parts()), chunks);
    Value first = e.select(byRows, e.mul(perPart, e.part()), e.i64(0));
    Value behind = e.select(byRows, e.add(first, perPart), chunks);
    part = e.select(byRows, e.i64(0), e.part());
    parts = e.select(byRows, e.i64(1), e.parts());
    Value divisor = e.max(chunks, e.i64(1));
    e.forLoop(first, behind, 1, [&](Value i) {
      Value from = e.div(e.mul(i, rows), divisor);
      Value to = e.div(e.mul(e.add(i, 1), rows), divisor);
      emitChunk(from, e.sub(to, from), e.less(e.add(i, 1), behind));
    });
  }

private:
  /// Rows of the operand that make a chunk.
  int64_t chunkRows() {
    return std::max(kChunkBytes / (bytes() * std::min(k, getMaxKBlock())),
                    e.kernels().maxRows(bf16));
  }
  /// True where each part shall have rows of its own.
  Value ownsRows(Value rows) {
    return e.lessEqual(e.mul(e.parts(), kOwnRows), rows);
  }

  /// Bytes of an element of the operands.
  int64_t bytes() const { return bf16 ? 2 : 4; }
  int64_t getMaxKBlock() const {
    return kern::getMaxKBlock(type.getElementType());
  }
  /// Elements of k in one step of a kernel's loop.
  int64_t stepOfK() const { return bf16 ? 2 : 1; }

  SmallVector<Range> ranges() {
    SmallVector<int64_t> starts = type.getPaddedStarts();
    SmallVector<Range> result;
    for (auto [i, out] : llvm::enumerate(op.getOuts()))
      result.push_back(
          {out,
           type.getSplits().empty() ? type.getShape()[0] : type.getSplits()[i],
           starts[i]});
    return result;
  }

  /// A chunk of rows; whether `more` of them follow.
  void emitChunk(Value first, Value rows, Value more) {
    SmallVector<Range> all = ranges();
    for (auto [i, range] : llvm::enumerate(all)) {
      Value next = i + 1 < all.size() ? firstPanel(e.weight(op.getWeight()),
                                                   type, all[i + 1], byRows)
                                      : nextPhasesPanel(more, all[0]);
      emitTiles(range, first, rows, next);
    }
  }

  /// Address of the first panel of this part in a range of a weight's columns.
  Value firstPanel(Value weight, kern::WeightType of, const Range &range,
                   Value whole) {
    int64_t width = e.kernels().tileColumns();
    Value tile = e.share(e.i64(llvm::divideCeil(range.columns, width))).first;
    return panelAt(weight, of, range,
                   e.select(whole, e.i64(0), e.mul(tile, width)));
  }

  /// Address of the panel that holds a column of a range.
  Value panelAt(Value weight, kern::WeightType of, const Range &range,
                Value column) {
    Value panel = e.div(e.add(column, range.paddedStart), e.i64(kern::kPanel));
    return e.advance(weight, e.mul(panel, panelBytes(of)));
  }

  /// What this part reads behind its last panel: its first one again where rows
  /// remain, else the one that the next product begins with.
  Value nextPhasesPanel(Value more, const Range &range) {
    Value again = firstPanel(e.weight(op.getWeight()), type, range, byRows);
    auto [next, otherRow] = followingProduct(op);
    if (!next)
      return again;
    Value weight = otherRow ? e.nextRowsWeight(next.getWeight())
                            : e.weight(next.getWeight());
    kern::WeightType of = next.getWeight().getType();
    int64_t columns =
        of.getSplits().empty() ? of.getShape()[0] : of.getSplits()[0];
    Value whole = ownsRows(e.rowCount(next.getInput()));
    return e.select(more, again,
                    firstPanel(weight, of, {Value(), columns, 0}, whole));
  }

  /// How much of K a kernel takes at once: all of it, unless it is very long;
  /// then the accumulators wait in the output.
  int64_t cutOf(const Range &range) {
    bool keys = PhaseEmitter::typeOf(range.out).getKeyPanels();
    int64_t cuts = keys ? 1 : llvm::divideCeil(k, getMaxKBlock());
    return llvm::alignTo(llvm::divideCeil(k, cuts), stepOfK());
  }

  /// The kernel for a cut of K of this length; only the last one ends with the
  /// epilogue.
  KernelSpec spec(const Range &range, int64_t length, bool isFirst,
                  bool isLast) {
    kern::BufferType out = PhaseEmitter::typeOf(range.out);
    KernelSpec spec;
    spec.bf16 = bf16;
    spec.outBf16 = out.getElementType().isBF16();
    spec.k = length;
    spec.lhsStride = constantStride(PhaseEmitter::typeOf(op.getInput()));
    spec.rhsStride = kern::kPanel;
    spec.prefetch = true;
    if (!isFirst)
      spec.start = KernelSpec::Start::Output;
    else if (op.getBias())
      spec.start = KernelSpec::Start::Bias;
    if (isLast) {
      spec.activation = getActivationName(op.getActivation());
      spec.gate = getActivationName(op.getGlu());
      spec.residual = static_cast<bool>(op.getResidual());
    }
    if (out.getKeyPanels())
      spec.store = KernelSpec::Store::Keys;
    return spec;
  }

  /// All tiles of a range of columns over a chunk of rows: panel after panel,
  /// in each the cuts of K, in each the blocks of rows.
  void emitTiles(const Range &range, Value firstRow, Value rows, Value next) {
    int64_t width = e.kernels().tileColumns();
    int64_t across = llvm::divideCeil(range.columns, width);
    RowBlocks blocks(e, firstRow, rows, e.kernels().maxRows(bf16));
    Value count = e.mul(e.min(blocks.count, rows), across);
    Value begin = e.div(e.mul(count, part), parts);
    Value end = e.div(e.mul(count, e.add(part, 1)), parts);
    Value behind =
        e.div(e.add(end, e.sub(blocks.count, e.i64(1))), blocks.count);
    e.forLoop(e.div(begin, blocks.count), behind, 1, [&](Value panel) {
      Value before = e.mul(panel, blocks.count);
      Value column = e.mul(panel, width);
      Value isLast = e.equal(e.add(panel, 1), behind);
      Value streams = e.both(e.equal(blocks.count, e.i64(1)),
                             e.less(e.add(panel, 1), behind));
      Value inside =
          e.select(streams, e.i64(kStreamAhead), e.i64(panelBytes(type)));
      Value here = panelAt(e.weight(op.getWeight()), type, range, column);
      Tiles own{range,
                column,
                e.max(e.sub(begin, before), e.i64(0)),
                e.min(e.sub(end, before), blocks.count),
                e.select(isLast, next, e.advance(here, inside)),
                streams,
                e.equal(panel, e.div(begin, blocks.count))};
      emitCuts(own, blocks);
      if (op.getNormGamma())
        emitNorms(own, blocks, begin, end, before, across);
    });
  }

  /// The tiles of a panel, one cut of K after the other.
  void emitCuts(const Tiles &tiles, RowBlocks &blocks) {
    int64_t length = cutOf(tiles.range);
    int64_t last = (k - 1) / length * length;
    auto emitCut = [&](Value from, bool isFirst, bool isLast) {
      KernelSpec kernel =
          spec(tiles.range, isLast ? k - last : length, isFirst, isLast);
      e.forLoop(tiles.from, tiles.to, 1, [&](Value block) {
        auto [row, height] = blocks.at(block);
        KernelArgs args = arguments(tiles.range, row, tiles.column, from);
        fetchAhead(args, tiles, blocks, block, height, from, *kernel.k);
        e.kernels().call(e, kernel, height, args);
      });
    };
    if (last == 0)
      return emitCut(e.i64(0), true, true);
    emitCut(e.i64(0), true, false);
    e.forLoop(e.i64(length), e.i64(last), length,
              [&](Value from) { emitCut(from, false, false); });
    emitCut(e.i64(last), false, true);
  }

  /// Each block of rows of each tile in a panel touches its part of the panel
  /// that comes next; a single block what it reads itself soon. Besides, the
  /// blocks of the first panel touch the rows of the block that comes next, and
  /// a single block what lies between the lines that it touches.
  void fetchAhead(KernelArgs &args, const Tiles &tiles, RowBlocks &blocks,
                  Value block, Value height, Value from, int64_t length) {
    constexpr int64_t line = kern::kPanel * 4; // of a k, or a pair of them
    int64_t across = kern::kPanel / e.kernels().tileColumns();
    int64_t steps = llvm::divideCeil(length, stepOfK());
    Value shares =
        e.select(tiles.streams, e.i64(1), e.mul(blocks.count, across));
    Value tile = e.rem(e.div(tiles.column, e.i64(e.kernels().tileColumns())),
                       e.i64(across));
    Value share = e.select(tiles.streams, e.i64(0),
                           e.add(e.mul(tile, blocks.count), block));
    args.prefetchStride = e.div(e.add(shares, line - 1), shares);
    Value ahead = e.add(e.mul(e.div(from, e.i64(stepOfK())), line),
                        e.mul(e.mul(share, args.prefetchStride), steps));
    args.prefetch = e.advance(tiles.ahead, ahead);
    Value rowBytes = e.mul(args.lhsStride, bytes());
    Value nextRows = e.advance(args.lhs, e.mul(height, rowBytes));
    Value fetchesRows = e.both(tiles.isFirst, e.less(e.i64(1), blocks.count));
    args.prefetchMore =
        e.select(fetchesRows, nextRows, e.advance(args.prefetch, line / 2));
    args.prefetchMoreStride =
        e.select(fetchesRows, e.ceilDiv(e.mul(height, rowBytes), steps),
                 args.prefetchStride);
  }

  /// Normalizes the blocks whose last tile of this part lies in this panel.
  void emitNorms(const Tiles &tiles, RowBlocks &blocks, Value begin, Value end,
                 Value before, int64_t across) {
    e.forLoop(tiles.from, tiles.to, 1, [&](Value block) {
      Value unit = e.add(before, block);
      e.ifThen(e.lessEqual(end, e.add(unit, blocks.count)), [&] {
        Value done = e.add(e.div(e.sub(unit, begin), blocks.count), 1);
        auto [row, height] = blocks.at(block);
        emitNorm(row, height, done, across);
      });
    });
  }

  /// Counts the tiles of a block of rows, those of a part at once, since an
  /// atomic addition waits for all stores before it. Whoever finishes the last
  /// one normalizes the block and leaves the counter at zero.
  void emitNorm(Value row, Value height, Value done, int64_t tiles) {
    OpBuilder &b = e.builder();
    Value counter = e.advance(e.pointer(op.getNormCounters()), e.mul(row, 8));
    Value before = b.create<LLVM::AtomicRMWOp>(
        e.location(), LLVM::AtomicBinOp::add, counter, done,
        LLVM::AtomicOrdering::acq_rel);
    e.ifThen(e.equal(e.add(before, done), e.i64(tiles)), [&] {
      e.store(e.i64(0), counter);
      NormRow norm{op.getOuts()[0],
                   op.getNormOut(),
                   op.getNormGamma(),
                   op.getNormBeta(),
                   op.getNormEps()->convertToDouble(),
                   op.getNormRms(),
                   op.getNormOutBf16()};
      emitNormRows(e, norm, row, e.add(row, height));
    });
  }

  /// From one panel of a weight to the next.
  static int64_t panelBytes(kern::WeightType of) { return of.getPanelBytes(); }

  /// What the kernel of a tile is called with, from `from` of K on.
  KernelArgs arguments(const Range &range, Value row, Value column,
                       Value from) {
    KernelArgs args;
    args.lhsStride = e.rowStride(op.getInput());
    args.lhs =
        e.advance(e.pointer(op.getInput()),
                  e.mul(e.add(e.mul(row, args.lhsStride), from), bytes()));
    Value packed = e.add(column, range.paddedStart);
    Value within = e.rem(packed, e.i64(kern::kPanel));
    args.rhs =
        e.advance(panelAt(e.weight(op.getWeight()), type, range, column),
                  e.add(e.mul(from, kern::kPanel * bytes()), e.mul(within, 4)));
    if (op.getBias())
      args.bias = e.advance(e.weight(op.getBias()), e.mul(packed, 4));
    args.columns = e.sub(e.i64(range.columns), column);
    kern::BufferType outType = PhaseEmitter::typeOf(range.out);
    int64_t outBytes = outType.getElementType().isBF16() ? 2 : 4;
    if (outType.getKeyPanels()) {
      args.outputStride = e.i64(range.columns * kern::kPanel);
      args.output = e.advance(e.pointer(range.out),
                              e.mul(column, kern::kPanel * outBytes));
      Value keys = e.loadPtr(e.advance(
          e.ragged(op.getRagged()), offsetof(transom_ragged_batch, token_key)));
      args.perRow = e.advance(keys, e.mul(row, 8));
    } else {
      args.outputStride = e.rowStride(range.out);
      Value first = op.getGlu() ? e.div(column, e.i64(2)) : column;
      args.output = e.advance(
          e.pointer(range.out),
          e.mul(e.add(e.mul(row, args.outputStride), first), outBytes));
    }
    if (op.getResidual()) {
      args.residualStride = e.rowStride(op.getResidual());
      args.residual =
          e.advance(e.pointer(op.getResidual()),
                    e.mul(e.add(e.mul(row, args.residualStride), column), 4));
    }
    return args;
  }

  PhaseEmitter &e;
  kern::GemmOp op;
  kern::WeightType type;
  int64_t k;
  bool bf16;
  Value byRows;      ///< whether each part has chunks of its own
  Value part, parts; ///< how the tiles of a chunk are shared
};
} // namespace

void lower::lowerGemm(PhaseEmitter &e, kern::GemmOp op) {
  GemmPhase(e, op).emit();
}
