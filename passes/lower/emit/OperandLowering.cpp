// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The storage formats that generated code supports: f32; int8 in caches, which
// is widened to f32; bf16 in pairs and in rows; quantized values in groups (see
// GroupsLowering.cpp). The table at the end lists them.
#include "passes/lower/emit/OperandLowering.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/lower/emit/DequantizedLowering.h"
#include "passes/lower/emit/GroupsLowering.h"
#include "runtime/abi/Layout.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

Value OperandLowering::getPanelAddress(CodeEmitter &e, Value panels,
                                       Index depth, Index row,
                                       Index column) const {
  Index panel = row / panelWidth, lane = row % panelWidth;
  Index step = panel * (depth / format.interleave) + column / format.interleave;
  return e.advance(panels,
                   (step * panelWidth + lane) * format.getColumnBytes());
}

Value OperandLowering::getRhsAddress(CodeEmitter &e,
                                     const RhsVector &rhs) const {
  const int64_t bytes = format.getColumnBytes(),
                steps = getKPerIteration() / format.interleave;
  Index step = steps == 1 ? rhs.iteration : rhs.iteration * steps;
  return e.advance(e.advance(rhs.base, step * rhs.stride * bytes),
                   rhs.vector * kLanes * bytes);
}

Value OperandLowering::loadColumns(CodeEmitter &e, Value panels, int64_t depth,
                                   Index row, Index column, Value mask) const {
  Value at = getPanelAddress(e, panels, e.i64(format.getPaddedDepth(depth)),
                             row, column);
  return gatherColumns(e, at, mask);
}

Index OperandLowering::getDepthBytes(Index k) const {
  Index bytes = k * (format.getStepBytes() / format.interleave);
  if (!format.isGrouped())
    return bytes;
  return bytes + k / format.group * format.getGroupScaleBytes();
}

namespace {

//===----------------------------------------------------------------------===//
// Formats that are multiplied in f32
//===----------------------------------------------------------------------===//

/// Elements that are widened to f32 one by one.
class WidenedLowering : public OperandLowering {
public:
  using OperandLowering::OperandLowering;

  Value gatherColumns(CodeEmitter &e, Value pointer,
                      Value mask) const override {
    Index distance = e.i64(getFormat().getStepBytes());
    return widen(e, e.gather(getStoredType(e), pointer, distance, mask));
  }
  void scatterColumns(CodeEmitter &e, Value stored, Value pointer,
                      Value mask) const override {
    e.scatter(stored, pointer, e.i64(getFormat().getStepBytes()), mask);
  }

  int64_t getMaxMr(const InstructionSet &isa) const override {
    return isa.tileRows;
  }
  int64_t getKPerIteration() const override { return 1; }
  Operand loadRhs(CodeEmitter &e, const RhsVector &rhs) const override {
    return {load(e, getRhsAddress(e, rhs), rhs.mask)};
  }
  Operand broadcastLhs(CodeEmitter &e, Value pointer, bool) const override {
    return {e.splat(e.loadF32(pointer))};
  }
  Value multiplyAdd(CodeEmitter &e, const Operand &lhs, const Operand &rhs,
                    Value sum) const override {
    return e.fma(lhs[0], rhs[0], sum);
  }
};

/// f32: rows [k][columns] are also panels.
class F32Lowering final : public WidenedLowering {
public:
  F32Lowering() : WidenedLowering(OperandFormat(StorageType::F32), "") {}

  Type getStoredType(CodeEmitter &e) const override { return e.f32Type(); }
  Value widen(CodeEmitter &, Value stored) const override { return stored; }
  Value round(CodeEmitter &, Value values) const override { return values; }
};

/// int8 in a cache or in rows. The caller multiplies by the scales.
class Int8Lowering final : public WidenedLowering {
public:
  Int8Lowering(const OperandFormat &format, std::string suffix)
      : WidenedLowering(format, std::move(suffix)) {}

  Type getStoredType(CodeEmitter &e) const override {
    return e.builder().getI8Type();
  }
  Value widen(CodeEmitter &e, Value stored) const override {
    return e.widenInt8(stored);
  }
  Value round(CodeEmitter &e, Value values) const override {
    return e.roundInt8(values);
  }
};

//===----------------------------------------------------------------------===//
// bf16
//===----------------------------------------------------------------------===//

/// bf16. An iteration takes pairs along K: one instruction if the instruction
/// set has it, otherwise both halves are widened and multiplied sequentially.
/// An odd last k is paired with zero.
class Bf16Lowering : public OperandLowering {
public:
  using OperandLowering::OperandLowering;

  Type getStoredType(CodeEmitter &e) const override {
    return e.builder().getI16Type();
  }
  Value widen(CodeEmitter &e, Value stored) const override {
    return e.widenBf16(stored);
  }
  Value round(CodeEmitter &e, Value values) const override {
    return e.roundBf16(values);
  }

  int64_t getMaxMr(const InstructionSet &isa) const override {
    return isa.bf16Rows;
  }
  int64_t getKPerIteration() const override { return 2; }
  Operand broadcastLhs(CodeEmitter &e, Value pointer,
                       bool isRest) const override {
    OpBuilder &b = e.builder();
    Value word = isRest
                     ? b.create<arith::ExtUIOp>(e.location(), b.getI32Type(),
                                                e.load(b.getI16Type(), pointer))
                     : e.load(b.getI32Type(), pointer);
    return getPairs(e, e.splat(word));
  }
  Value multiplyAdd(CodeEmitter &e, const Operand &lhs, const Operand &rhs,
                    Value sum) const override {
    if (e.getIsa().dotBf16)
      return e.intrinsic(e.f32Vector(), "llvm.x86.avx512bf16.dpbf16ps.512",
                         {sum, lhs[0], rhs[0]});
    for (auto [x, y] : llvm::zip(lhs, rhs))
      sum = e.fma(x, y, sum);
    return sum;
  }

protected:
  /// Converts pairs, given as i32, to an operand.
  static Operand getPairs(CodeEmitter &e, Value words) {
    OpBuilder &b = e.builder();
    if (e.getIsa().dotBf16)
      return {e.bitcastWords(words, b.getBF16Type())};
    // Widen both halves: bf16 is the upper half of an f32.
    Value low = b.create<arith::ShLIOp>(e.location(), words, e.splatI32(16));
    Value high = b.create<arith::AndIOp>(e.location(), words,
                                         e.splatI32(int32_t(0xffff0000)));
    return {e.bitcastWords(low, e.f32Type()),
            e.bitcastWords(high, e.f32Type())};
  }
};

/// Addresses for eight pairs in a panel row, 32 words apart.
Value getPairPointers(CodeEmitter &e, Value pointer,
                      ArrayRef<int64_t> distances) {
  OpBuilder &b = e.builder();
  Value offsets =
      b.create<arith::ConstantOp>(e.location(), b.getI64VectorAttr(distances));
  return b.create<LLVM::GEPOp>(
      e.location(),
      LLVM::getFixedVectorType(e.ptrType(), unsigned(distances.size())),
      b.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{offsets});
}

/// bf16 in pairs along K: [k/2][columns][2].
class Bf16PairsLowering final : public Bf16Lowering {
public:
  Bf16PairsLowering() : Bf16Lowering(OperandFormat(StorageType::BF16), "") {}

  /// Each lane loads its column's pair and extracts one half.
  Value gatherColumns(CodeEmitter &e, Value pointer,
                      Value mask) const override {
    OpBuilder &b = e.builder();
    SmallVector<int64_t> distances;
    SmallVector<int32_t> shifts;
    for (int64_t i = 0; i < kLanes; ++i) {
      distances.push_back(i / 2 * getFormat().getStepBytes());
      shifts.push_back(i % 2 ? 0 : 16);
    }
    Value pointers = getPairPointers(e, pointer, distances);
    VectorType bits = e.getVectorType(b.getI32Type());
    Value zero = b.create<arith::ConstantOp>(e.location(), b.getZeroAttr(bits));
    Value pairs = b.create<LLVM::masked_gather>(
        e.location(), bits, pointers,
        mask ? mask : e.logicalNot(e.laneMask(e.i64(0))), ValueRange{zero}, 4);

    // Shift the lane's half up to the upper 16 bits.
    Value shift = b.create<arith::ConstantOp>(
        e.location(), DenseElementsAttr::get(bits, ArrayRef(shifts)));
    Value own = b.create<arith::AndIOp>(
        e.location(), b.create<arith::ShLIOp>(e.location(), pairs, shift),
        e.splatI32(int32_t(0xffff0000)));
    return b.create<arith::BitcastOp>(e.location(), e.f32Vector(), own);
  }

  /// Stores eight words, each with one pair.
  void scatterColumns(CodeEmitter &e, Value stored, Value pointer,
                      Value mask) const override {
    OpBuilder &b = e.builder();
    constexpr int64_t pairs = kLanes / 2;
    SmallVector<int64_t> distances, evenLanes;
    for (int64_t i = 0; i < pairs; ++i) {
      distances.push_back(i * getFormat().getStepBytes());
      evenLanes.push_back(2 * i);
    }
    Value words = b.create<vector::BitCastOp>(
        e.location(), VectorType::get({pairs}, b.getI32Type()), stored);
    Value lanes = mask ? mask : e.logicalNot(e.laneMask(e.i64(0)));
    Value pointers = getPairPointers(e, pointer, distances);
    // A pair is stored if its first column exists.
    b.create<LLVM::masked_scatter>(
        e.location(), words, pointers,
        b.create<vector::ShuffleOp>(e.location(), lanes, lanes, evenLanes), 4);
  }

  Operand loadRhs(CodeEmitter &e, const RhsVector &rhs) const override {
    OpBuilder &b = e.builder();
    Value words = e.loadVector(b.getI32Type(), getRhsAddress(e, rhs), rhs.mask);
    // In a cache, the partner of an odd last k is undefined: clear it.
    if (rhs.isRest)
      words = b.create<arith::AndIOp>(e.location(), words, e.splatI32(0xffff));
    return getPairs(e, words);
  }
};

/// bf16 in rows: [k][columns]. Two rows are combined into pairs in registers.
class Bf16RowsLowering final : public Bf16Lowering {
public:
  Bf16RowsLowering()
      : Bf16Lowering(OperandFormat::getRows(StorageType::BF16), "_rows") {}

  Value gatherColumns(CodeEmitter &, Value, Value) const override {
    llvm_unreachable("panels of bf16 are in pairs");
  }
  void scatterColumns(CodeEmitter &, Value, Value, Value) const override {
    llvm_unreachable("panels of bf16 are in pairs");
  }

  Operand loadRhs(CodeEmitter &e, const RhsVector &rhs) const override {
    Value at = getRhsAddress(e, rhs);
    Value zero = e.builder().create<arith::ConstantOp>(
        e.location(),
        e.builder().getZeroAttr(e.getVectorType(getStoredType(e))));
    Value next = e.advance(at, rhs.stride * getElementBytes());
    Value first = loadStored(e, at, rhs.mask);
    return getPairsOfRows(e, first,
                          rhs.isRest ? zero : loadStored(e, next, rhs.mask));
  }

private:
  static Operand getPairsOfRows(CodeEmitter &e, Value first, Value second) {
    if (!e.getIsa().dotBf16)
      return {e.widenBf16(first), e.widenBf16(second)};
    SmallVector<int64_t> interleaved;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      interleaved.push_back(lane);
      interleaved.push_back(lane + kLanes);
    }
    Value words = e.builder().create<vector::ShuffleOp>(e.location(), first,
                                                        second, interleaved);
    return {e.bitcastWords(words, e.builder().getBF16Type())};
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Adds the lowerings for all formats with quantized values in groups.
static void addQuantized(std::vector<const OperandLowering *> &all) {
  static const std::vector<std::unique_ptr<OperandLowering>> owned = [] {
    std::vector<std::unique_ptr<OperandLowering>> owned;
    for (auto *make : {makeGroupsLowering, makeDequantizedLowering})
      for (const OperandFormat &format : OperandFormat::getQuantizedFormats())
        owned.push_back(make(format));
    return owned;
  }();
  for (const auto &lowering : owned)
    all.push_back(lowering.get());
}

static ArrayRef<const OperandLowering *> getAll() {
  static const F32Lowering f32;
  static const Bf16PairsLowering bf16Pairs;
  static const Bf16RowsLowering bf16Rows;
  static const Int8Lowering int8(OperandFormat::getCache(StorageType::I8),
                                 "_int8"),
      int8Rows(OperandFormat::getRows(StorageType::I8), "_int8_rows");
  static const std::vector<const OperandLowering *> all = [] {
    std::vector<const OperandLowering *> all = {&f32, &bf16Pairs, &bf16Rows,
                                                &int8, &int8Rows};
    addQuantized(all);
    return all;
  }();
  return all;
}

const OperandLowering *OperandLowering::find(const OperandFormat &format,
                                             StorageType operand) {
  for (const OperandLowering *lowering : getAll())
    if (lowering->format == format && lowering->operand == operand)
      return lowering;
  return nullptr;
}

const OperandLowering &OperandLowering::get(const OperandFormat &format,
                                            StorageType operand) {
  const OperandLowering *found = find(format, operand);
  assert(found && "the pass checks the formats of its module");
  return *found;
}

std::string OperandLowering::getSupportedNames() {
  std::string names;
  for (const OperandLowering *lowering : getAll())
    // Other formats are only for caches, or duplicates.
    if (!lowering->getFormat().findError() && !lowering->dequantizes())
      names +=
          (names.empty() ? "'" : ", '") + lowering->getFormat().str() + "'";
  return names;
}
