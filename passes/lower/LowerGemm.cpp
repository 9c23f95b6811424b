// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products: with packed weights, and of two activations. Rows are cut into
// chunks whose operand stays in the second-level cache; within a chunk the
// register tiles, panel by panel, are shared out over parts.
#include "passes/lower/Phase.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// Bytes of the left operand that shall stay in the second-level cache.
static constexpr int64_t kChunkBytes = 1024 * 1024;

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

  void emit() {
    Value rows = e.rowCount(op.getInput());
    int64_t chunk =
        std::max(kChunkBytes / (bytes() * std::min(k, longestChain())),
                 e.kernels().maxRows(bf16));
    Value chunks = e.ceilDiv(rows, chunk);
    Value divisor = e.max(chunks, e.i64(1));
    e.forLoop(e.i64(0), chunks, 1, [&](Value i) {
      Value from = e.div(e.mul(i, rows), divisor);
      Value to = e.div(e.mul(e.add(i, 1), rows), divisor);
      emitChunk(from, e.sub(to, from), e.less(e.add(i, 1), chunks));
    });
  }

private:
  /// Bytes of an element of the operands.
  int64_t bytes() const { return bf16 ? 2 : 4; }
  int64_t longestChain() const {
    return kern::longestChain(type.getElementType());
  }
  /// Elements of k in one step of a kernel's loop.
  int64_t stepOfK() const { return bf16 ? 2 : 1; }

  SmallVector<Range> ranges() {
    SmallVector<int64_t> starts = type.getPaddedStarts();
    SmallVector<Range> result;
    for (auto [i, out] : llvm::enumerate(op.getOuts()))
      result.push_back(
          {out,
           type.getParts().empty() ? type.getShape()[0] : type.getParts()[i],
           starts[i]});
    return result;
  }

  /// A chunk of rows; whether `more` of them follow.
  void emitChunk(Value first, Value rows, Value more) {
    SmallVector<Range> all = ranges();
    for (auto [i, range] : llvm::enumerate(all)) {
      bool keys = PhaseEmitter::typeOf(range.out).getKeyPanels();
      int64_t cuts = keys ? 1 : llvm::divideCeil(k, longestChain());
      Value next = i + 1 < all.size()
                       ? firstPanel(e.weight(op.getWeight()), type, all[i + 1])
                       : nextPhasesPanel(more, all[0]);
      for (int64_t cut = 0; cut < cuts; ++cut)
        emitTiles(range, first, rows, border(cut, cuts), border(cut + 1, cuts),
                  next);
    }
  }

  /// Address of the first panel of this part in a range of a weight's columns.
  Value firstPanel(Value weight, kern::WeightType of, const Range &range) {
    int64_t width = e.kernels().tileColumns();
    Value tile = e.share(e.i64(llvm::divideCeil(range.columns, width))).first;
    return panelAddress(weight, of,
                        e.add(e.mul(tile, width), range.paddedStart));
  }

  /// What this part reads behind its last panel: its first one again where rows
  /// remain, else the one that the next product begins with.
  Value nextPhasesPanel(Value more, const Range &range) {
    Value again = firstPanel(e.weight(op.getWeight()), type, range);
    auto [next, otherRow] = followingProduct(op);
    if (!next)
      return again;
    Value weight = otherRow ? e.nextRowsWeight(next.getWeight())
                            : e.weight(next.getWeight());
    kern::WeightType of = next.getWeight().getType();
    int64_t columns =
        of.getParts().empty() ? of.getShape()[0] : of.getParts()[0];
    return e.select(more, again, firstPanel(weight, of, {Value(), columns, 0}));
  }

  /// Address of the panel of 32 that holds padded column `column`, advanced to
  /// that column.
  Value panelAddress(Value weight, kern::WeightType of, Value column) {
    Value panel = e.div(column, e.i64(kern::kPanel)),
          within = e.rem(column, e.i64(kern::kPanel));
    return e.advance(weight,
                     e.add(e.mul(panel, panelBytes(of)), e.mul(within, 4)));
  }

  /// Where cut `cut` of K begins, between pairs.
  int64_t border(int64_t cut, int64_t cuts) {
    return cut == cuts ? k : cut * k / cuts / stepOfK() * stepOfK();
  }

  KernelSpec spec(const Range &range, int64_t from, int64_t to) {
    kern::BufferType out = PhaseEmitter::typeOf(range.out);
    KernelSpec spec;
    spec.bf16 = bf16;
    spec.outBf16 = out.getElementType().isBF16();
    spec.k = to - from;
    spec.lhsStride = constantStride(PhaseEmitter::typeOf(op.getInput()));
    spec.rhsStride = kern::kPanel;
    spec.prefetch = true;
    if (from)
      spec.start = KernelSpec::Start::Output;
    else if (op.getBias())
      spec.start = KernelSpec::Start::Bias;
    if (to == k) {
      spec.activation = op.getActivation().value_or("").str();
      spec.residual = static_cast<bool>(op.getResidual());
    }
    if (out.getKeyPanels())
      spec.store = KernelSpec::Store::Keys;
    return spec;
  }

  /// All tiles of a range of columns over a chunk of rows, K from `from` to
  /// `to`: panel after panel, each with the blocks of rows.
  void emitTiles(const Range &range, Value firstRow, Value rows, int64_t from,
                 int64_t to, Value nextPanel) {
    int64_t width = e.kernels().tileColumns();
    Value blocks = e.max(e.ceilDiv(rows, e.kernels().maxRows(bf16)), e.i64(1));
    Value height = e.div(rows, blocks), taller = e.rem(rows, blocks);
    Value count =
        e.mul(e.min(blocks, rows), llvm::divideCeil(range.columns, width));
    KernelSpec kernel = spec(range, from, to);
    auto [begin, end] = e.share(count);
    e.forLoop(begin, end, 1, [&, begin = begin, end = end](Value unit) {
      Value column = e.mul(e.div(unit, blocks), width);
      Value block = e.rem(unit, blocks);
      Value row =
          e.add(firstRow, e.add(e.mul(block, height), e.min(block, taller)));
      Value own =
          e.add(height, e.select(e.less(block, taller), e.i64(1), e.i64(0)));
      KernelArgs args = arguments(range, row, column, from);
      // Each block of rows touches its part of the panel that comes next.
      args.prefetchStride = e.div(e.add(blocks, width * 4 - 1), blocks);
      Value ahead = e.mul(e.mul(block, args.prefetchStride),
                          llvm::divideCeil(to - from, stepOfK()));
      Value last =
          e.lessEqual(end, e.mul(e.add(e.div(unit, blocks), 1), blocks));
      args.prefetch = e.advance(
          e.select(last, nextPanel, e.advance(args.rhs, panelBytes(type))),
          ahead);
      e.kernels().call(e, kernel, own, args);
      if (op.getNormGamma() && to == k)
        e.ifThen(e.lessEqual(end, e.add(unit, blocks)), [&] {
          Value done = e.add(e.div(e.sub(unit, begin), blocks), 1);
          emitNorm(row, own, done, llvm::divideCeil(range.columns, width));
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
                   false,
                   op.getNormOutBf16()};
      e.forLoop(row, e.add(row, height), 1,
                [&](Value r) { emitNormRow(e, norm, r); });
    });
  }

  /// From one panel of a weight to the next.
  static int64_t panelBytes(kern::WeightType of) {
    return of.getPaddedDepth() * kern::kPanel * (of.isBf16() ? 2 : 4);
  }

  KernelArgs arguments(const Range &range, Value row, Value column,
                       int64_t from) {
    KernelArgs args;
    args.lhsStride = e.rowStride(op.getInput());
    args.lhs =
        e.advance(e.pointer(op.getInput()),
                  e.mul(e.add(e.mul(row, args.lhsStride), from), bytes()));
    Value packed = e.add(column, range.paddedStart);
    args.rhs = e.advance(panelAddress(e.weight(op.getWeight()), type, packed),
                         from * kern::kPanel * bytes());
    if (op.getBias())
      args.bias = e.advance(e.weight(op.getBias()), e.mul(packed, 4));
    args.columns = e.sub(e.i64(range.columns), column);
    kern::BufferType outType = PhaseEmitter::typeOf(range.out);
    int64_t outBytes = outType.getElementType().isBF16() ? 2 : 4;
    if (outType.getKeyPanels()) {
      args.outputStride = e.i64(range.columns * kern::kPanel);
      args.output = e.advance(e.pointer(range.out),
                              e.mul(column, kern::kPanel * outBytes));
      Value keys = e.loadPtr(e.advance(e.segments(op.getSegments()),
                                       offsetof(transom_segments, row_key)));
      args.rowKeys = e.advance(keys, e.mul(row, 8));
    } else {
      args.outputStride = e.rowStride(range.out);
      args.output = e.advance(
          e.pointer(range.out),
          e.mul(e.add(e.mul(row, args.outputStride), column), outBytes));
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
};
} // namespace

void lower::lowerGemm(PhaseEmitter &e, kern::GemmOp op) {
  GemmPhase(e, op).emit();
}

void lower::lowerBatchMatmul(PhaseEmitter &e, kern::BatchMatmulOp op) {
  auto lhs = PhaseEmitter::typeOf(op.getLhs()),
       rhs = PhaseEmitter::typeOf(op.getRhs()),
       out = PhaseEmitter::typeOf(op.getOuts());
  SmallVector<Polynomial> dims = out.getDims(), lhsDims = lhs.getDims(),
                          rhsDims = rhs.getDims();
  Value m = e.size(dims[dims.size() - 2]), n = e.size(dims.back()),
        k = e.size(lhsDims.back());
  Value matrices = e.size(Polynomial(1));
  for (const Polynomial &dim : ArrayRef(dims).drop_back(2))
    matrices = e.mul(matrices, e.size(dim));
  int64_t width = e.kernels().tileColumns();
  Value tilesAcross = e.ceilDiv(n, width);
  Value blocks = e.max(e.ceilDiv(m, e.kernels().maxRows()), e.i64(1));
  Value height = e.div(m, blocks), taller = e.rem(m, blocks);

  KernelSpec spec;
  spec.k = lhsDims.back().constant();
  spec.lhsStride = constantStride(lhs);
  spec.rhsStride = constantStride(rhs);
  spec.partialRhs = true;

  // Offsets of whole matrices: the dims without the last are those of an
  // operand with one row a matrix.
  auto matrixOffset = [&](Value index, kern::BufferType type,
                          ArrayRef<Polynomial> own) {
    Polynomial matrix = own[own.size() - 2] * type.getRowStride();
    return emitBroadcastOffset(e, index, ArrayRef(dims).drop_back(),
                               own.drop_back(), matrix);
  };
  Value perMatrix = e.mul(tilesAcross, blocks);
  e.shareRows(e.mul(matrices, perMatrix), [&](Value unit) {
    Value matrix = e.div(unit, perMatrix), within = e.rem(unit, perMatrix);
    Value column = e.mul(e.div(within, blocks), width),
          block = e.rem(within, blocks);
    Value row = e.add(e.mul(block, height), e.min(block, taller));
    Value own =
        e.add(height, e.select(e.less(block, taller), e.i64(1), e.i64(0)));
    KernelArgs args;
    args.k = k;
    args.lhsStride = e.rowStride(op.getLhs());
    args.rhsStride = e.rowStride(op.getRhs());
    args.outputStride = e.rowStride(op.getOuts());
    Value lhsOffset =
        e.add(matrixOffset(matrix, lhs, lhsDims), e.mul(row, args.lhsStride));
    Value rhsOffset = e.add(matrixOffset(matrix, rhs, rhsDims), column);
    Value outOffset =
        e.add(e.mul(e.add(e.mul(matrix, m), row), args.outputStride), column);
    args.lhs = e.advance(e.pointer(op.getLhs()), e.mul(lhsOffset, 4));
    args.rhs = e.advance(e.pointer(op.getRhs()), e.mul(rhsOffset, 4));
    args.output = e.advance(e.pointer(op.getOuts()), e.mul(outOffset, 4));
    args.columns = e.sub(n, column);
    e.ifThen(e.less(e.i64(0), own),
             [&] { e.kernels().call(e, spec, own, args); });
  });
}
