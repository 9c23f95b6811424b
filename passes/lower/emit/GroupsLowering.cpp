// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantized values in groups along K, multiplied by bytes and summed as
// integers. All instruction sets compute the same sums.
#include "passes/lower/emit/GroupsLowering.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/abi/Layout.h"
#include "llvm/ADT/STLExtras.h"
#include <memory>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

namespace {

//===----------------------------------------------------------------------===//
// Byte products
//===----------------------------------------------------------------------===//

/// Signed bytes with even indices and with odd indices, as 16-bit words.
Operand widenBytes(CodeEmitter &e, Value bytes) {
  OpBuilder &b = e.builder();
  VectorType type = VectorType::get({2 * kLanes}, b.getI16Type());
  Value words = e.bitcastWords(bytes, b.getI16Type());
  Value eight = b.create<arith::ConstantOp>(
      e.location(), DenseElementsAttr::get(type, b.getI16IntegerAttr(8)));
  Value low = b.create<arith::ShLIOp>(e.location(), words, eight);
  return {b.create<arith::ShRSIOp>(e.location(), low, eight),
          b.create<arith::ShRSIOp>(e.location(), words, eight)};
}

/// The lower or upper half of a vector.
Value getHalf(CodeEmitter &e, Value vector, bool isUpper) {
  const int64_t lanes = cast<VectorType>(vector.getType()).getNumElements() / 2;
  SmallVector<int64_t> kept;
  for (int64_t i = 0; i < lanes; ++i)
    kept.push_back(isUpper ? lanes + i : i);
  return e.builder().create<vector::ShuffleOp>(e.location(), vector, vector,
                                               kept);
}

/// AVX2 multiplies half the lanes at a time.
Value multiplyHalves(CodeEmitter &e, StringRef name, VectorType result,
                     ArrayRef<Value> operands) {
  SmallVector<Value> halves;
  for (bool isUpper : {false, true}) {
    SmallVector<Value> of;
    for (Value operand : operands)
      of.push_back(getHalf(e, operand, isUpper));
    halves.push_back(e.intrinsic(
        VectorType::get({result.getNumElements() / 2}, result.getElementType()),
        name, of));
  }
  SmallVector<int64_t> all;
  for (int64_t i = 0; i < result.getNumElements(); ++i)
    all.push_back(i);
  return e.builder().create<vector::ShuffleOp>(e.location(), halves[0],
                                               halves[1], all);
}

/// Multiplies 16-bit words and adds both products in each 32-bit lane.
Value multiplyWords(CodeEmitter &e, Value x, Value y) {
  OpBuilder &b = e.builder();
  VectorType sums = e.getVectorType(b.getI32Type());
  const int64_t bits = e.getIsa().vectorBits;
  if (bits == 512)
    return e.intrinsic(sums, "llvm.x86.avx512.pmaddw.d.512", {x, y});
  if (bits == 256)
    return multiplyHalves(e, "llvm.x86.avx2.pmadd.wd", sums, {x, y});
  // Multiply each word separately: the upper one, and the lower one shifted up.
  Value sixteen = e.splatI32(16), sum;
  for (bool isUpper : {false, true}) {
    auto widen = [&](Value words) -> Value {
      Value lanes = b.create<vector::BitCastOp>(e.location(), sums, words);
      if (!isUpper)
        lanes = b.create<arith::ShLIOp>(e.location(), lanes, sixteen);
      return b.create<arith::ShRSIOp>(e.location(), lanes, sixteen);
    };
    Value product = b.create<arith::MulIOp>(e.location(), widen(x), widen(y));
    sum = sum ? b.create<arith::AddIOp>(e.location(), sum, product) : product;
  }
  return sum;
}

/// Multiplies unsigned bytes up to 15 by signed bytes and adds adjacent
/// products in 16-bit words; eight such words can be added without overflow.
Value multiplySmallBytes(CodeEmitter &e, Value x, Value y) {
  OpBuilder &b = e.builder();
  VectorType words = VectorType::get({2 * kLanes}, b.getI16Type());
  Value bytes = e.bitcastWords(x, b.getI8Type()),
        others = e.bitcastWords(y, b.getI8Type());
  if (e.getIsa().vectorBits == 512)
    return e.intrinsic(words, "llvm.x86.avx512.pmaddubs.w.512",
                       {bytes, others});
  return multiplyHalves(e, "llvm.x86.avx2.pmadd.ub.sw", words, {bytes, others});
}

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

/// Groups along K, [group/interleave][32][4] bytes, then scales and offsets. An
/// iteration takes the four bytes in each column.
class GroupsLowering : public StoredGroupsLowering {
public:
  explicit GroupsLowering(const OperandFormat &format)
      : StoredGroupsLowering(format, format.getOperandType()) {}

  /// Group sizes are multiples of 16, so these columns are in one group.
  Value loadColumns(CodeEmitter &e, Value panels, int64_t depth, Index row,
                    Index column, Value mask) const override {
    OpBuilder &b = e.builder();
    const OperandFormat &format = getFormat();
    Value panel = e.advance(panels, row / panelWidth *
                                        e.i64(format.getPanelBytes(depth)));
    Index lane = row % panelWidth, first = column / format.group * format.group,
          inside = column - first;
    Value group = e.advance(panel, getDepthBytes(first));
    Value at =
        e.advance(group, inside / format.interleave * format.getStepBytes() +
                             lane * format.getColumnBytes());
    // Four words with four columns each.
    SmallVector<Value> words;
    for (int64_t i = 0; i < kLanes / format.interleave; ++i)
      llvm::append_range(
          words,
          unpackWord(e, e.load(b.getI32Type(),
                               e.advance(at, i * format.getStepBytes()))));
    Value all = b.create<arith::ConstantOp>(
        e.location(),
        b.getZeroAttr(VectorType::get({kLanes / 4}, b.getI32Type())));
    for (auto [i, word] : llvm::enumerate(words))
      all = b.create<vector::InsertOp>(e.location(), word, all, int64_t(i));
    Value stored = b.create<vector::BitCastOp>(
        e.location(), e.getVectorType(b.getI8Type()), all);
    // The scales follow the elements, which are fewer in the last group.
    const int64_t last = depth / format.group * format.group;
    Index bytes = select(first < last, format.getGroupBytes(),
                         format.getGroupBytes(depth - last));
    const int64_t scaleBytes = format.getScaleBytes();
    Value scales = e.advance(group, bytes + lane * scaleBytes);
    Value scale = e.splat(e.loadFloat(*format.scales, scales)), numbers;
    if (format.minimums)
      numbers = e.fma(
          widen(e, stored), scale,
          e.splat(e.loadFloat(*format.minimums,
                              e.advance(scales, panelWidth * scaleBytes))));
    else
      numbers = e.mulF(widen(e, stored), scale);
    return mask ? e.select(mask, numbers, e.splat(0.0)) : numbers;
  }

  /// Integer sums are in registers, f32 sums only if there is room.
  int64_t getMaxMr(const InstructionSet &isa) const override {
    return isa.int8Rows;
  }
  Type getSumType(CodeEmitter &e) const override {
    return e.builder().getI32Type();
  }

protected:
  /// Unpacks a stored word into words with four bytes each.
  virtual SmallVector<Value> unpackWord(CodeEmitter &e, Value word) const = 0;

  static Value multiplyAddBytes(CodeEmitter &e, Value bytes, Value others,
                                Value sum) {
    if (e.getIsa().vectorBits == 512)
      return e.intrinsic(sum.getType(), "llvm.x86.avx512.vpdpbusd.512",
                         {sum, bytes, others});
    return multiplyHalves(e, "llvm.x86.avx512.vpdpbusd.256",
                          cast<VectorType>(sum.getType()),
                          {sum, bytes, others});
  }
  static Value addWords(CodeEmitter &e, const Operand &lhs, const Operand &rhs,
                        Value sum) {
    for (auto [x, y] : llvm::zip(lhs, rhs))
      sum = e.builder().create<arith::AddIOp>(e.location(), sum,
                                              multiplyWords(e, x, y));
    return sum;
  }
};

/// Bytes that are w + 128: one instruction if the instruction set multiplies
/// unsigned by signed bytes, otherwise w itself is widened to words.
class BytesLowering final : public GroupsLowering {
public:
  using GroupsLowering::GroupsLowering;

  Value widen(CodeEmitter &e, Value stored) const override {
    OpBuilder &b = e.builder();
    Value flipped = b.create<arith::XOrIOp>(
        e.location(), stored,
        b.create<arith::ConstantOp>(
            e.location(),
            DenseElementsAttr::get(e.getVectorType(b.getI8Type()),
                                   b.getI8IntegerAttr(int8_t(0x80)))));
    return e.widenInt8(flipped);
  }
  int64_t getRhsOffset(const InstructionSet &isa) const override {
    return isa.dotInt8 ? 128 : 0;
  }
  Operand loadRhs(CodeEmitter &e, const RhsVector &rhs) const override {
    OpBuilder &b = e.builder();
    Value words = e.loadVector(b.getI32Type(), getRhsAddress(e, rhs), rhs.mask);
    if (e.getIsa().dotInt8)
      return {words};
    return widenBytes(e,
                      b.create<arith::XOrIOp>(e.location(), words,
                                              e.splatI32(int32_t(0x80808080))));
  }
  Operand broadcastLhs(CodeEmitter &e, Value pointer, bool) const override {
    Value words = e.splat(e.load(e.builder().getI32Type(), pointer));
    return e.getIsa().dotInt8 ? Operand{words} : widenBytes(e, words);
  }
  Value multiplyAdd(CodeEmitter &e, const Operand &lhs, const Operand &rhs,
                    Value sum) const override {
    return e.getIsa().dotInt8 ? multiplyAddBytes(e, rhs[0], lhs[0], sum)
                              : addWords(e, lhs, rhs, sum);
  }

protected:
  SmallVector<Value> unpackWord(CodeEmitter &, Value word) const override {
    return {word};
  }
};

/// 4-bit values: k to k + 3 are in the lower half of each byte in a column, k +
/// 4 to k + 7 in the upper half. Signed values are w + 8.
class NibblesLowering final : public GroupsLowering {
public:
  using GroupsLowering::GroupsLowering;

  Value widen(CodeEmitter &e, Value stored) const override {
    Value numbers = e.widenInt8(stored);
    const int64_t offset = getOffset();
    return offset ? e.addF(numbers, e.splat(static_cast<double>(-offset)))
                  : numbers;
  }
  int64_t getRhsOffset(const InstructionSet &) const override {
    return getOffset();
  }
  Operand loadRhs(CodeEmitter &e, const RhsVector &rhs) const override {
    Value words =
        e.loadVector(e.builder().getI32Type(), getRhsAddress(e, rhs), rhs.mask);
    return prepare(e,
                   unpack(e, words, [&](int32_t x) { return e.splatI32(x); }));
  }
  Operand broadcastLhs(CodeEmitter &e, Value pointer, bool) const override {
    SmallVector<Value> words;
    for (int64_t bytes : {0, 4})
      words.push_back(
          e.splat(e.load(e.builder().getI32Type(), e.advance(pointer, bytes))));
    return prepare(e, words);
  }
  Value multiplyAdd(CodeEmitter &e, const Operand &lhs, const Operand &rhs,
                    Value sum) const override {
    OpBuilder &b = e.builder();
    if (e.getIsa().dotInt8) {
      for (auto [x, y] : llvm::zip(lhs, rhs))
        sum = multiplyAddBytes(e, y, x, sum);
      return sum;
    }
    if (!multipliesSmallBytes(e))
      return addWords(e, lhs, rhs, sum);
    Value words = b.create<arith::AddIOp>(
        e.location(), multiplySmallBytes(e, rhs[0], lhs[0]),
        multiplySmallBytes(e, rhs[1], lhs[1]));
    Value ones = b.create<arith::ConstantOp>(
        e.location(), DenseElementsAttr::get(cast<VectorType>(words.getType()),
                                             b.getI16IntegerAttr(1)));
    return b.create<arith::AddIOp>(e.location(), sum,
                                   multiplyWords(e, words, ones));
  }

protected:
  SmallVector<Value> unpackWord(CodeEmitter &e, Value word) const override {
    return unpack(e, word, [&](int32_t x) -> Value {
      return e.builder().create<arith::ConstantOp>(
          e.location(), e.builder().getI32IntegerAttr(x));
    });
  }

private:
  int64_t getOffset() const { return -getLowest(getFormat().element); }

  static bool multipliesSmallBytes(CodeEmitter &e) {
    return e.getIsa().vectorBits >= 256;
  }
  /// Byte words in the form that the instruction set multiplies.
  static Operand prepare(CodeEmitter &e, ArrayRef<Value> words) {
    if (e.getIsa().dotInt8 || multipliesSmallBytes(e))
      return Operand(words);
    Operand all;
    for (Value bytes : words)
      all.append(widenBytes(e, bytes));
    return all;
  }
  /// The lower and upper half of each byte.
  static SmallVector<Value> unpack(CodeEmitter &e, Value bytes,
                                   function_ref<Value(int32_t)> getConstant) {
    OpBuilder &b = e.builder();
    Value mask = getConstant(0x0f0f0f0f);
    Value upper = b.create<arith::ShRUIOp>(e.location(), bytes, getConstant(4));
    return {b.create<arith::AndIOp>(e.location(), bytes, mask),
            b.create<arith::AndIOp>(e.location(), upper, mask)};
  }
};

} // namespace

/// Suffix in micro-kernel names: `_int8x128`, `_uint4x128f32`.
static std::string getGroupsSuffix(const OperandFormat &format) {
  const bool isSigned = getLowest(format.element) < 0;
  const bool isUsual =
      format == OperandFormat::getQuantized(format.element, format.group);
  return std::string(isSigned ? "_int" : "_uint") +
         std::to_string(getStorageBits(format.element)) + "x" +
         std::to_string(format.group) +
         (isUsual ? "" : getStorageName(*format.scales));
}

StoredGroupsLowering::StoredGroupsLowering(const OperandFormat &format,
                                           StorageType operand)
    : OperandLowering(format, getGroupsSuffix(format), operand) {}

std::unique_ptr<OperandLowering>
lower::makeGroupsLowering(const OperandFormat &format) {
  if (getStorageBits(format.element) == 8)
    return std::make_unique<BytesLowering>(format);
  return std::make_unique<NibblesLowering>(format);
}
