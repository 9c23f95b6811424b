// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole numbers in groups that become f32 in registers: each is rounded once,
// to what the same weight would be in a model of f32. An iteration reads a word
// of each column, with four or eight numbers of consecutive k.
#include "passes/lower/emit/DequantizedLowering.h"
#include "passes/lower/emit/GroupsLowering.h"
#include <memory>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

namespace {

class DequantizedLowering final : public StoredGroupsLowering {
public:
  explicit DequantizedLowering(const OperandFormat &format)
      : StoredGroupsLowering(format, StorageType::F32) {}

  // Numbers without a product are those of GroupsLowering.
  Value widen(CodeEmitter &, Value) const override {
    llvm_unreachable("only products dequantize in words");
  }

  /// Beside its accumulators a column vector needs registers for its words, a
  /// number, its scale and perhaps its minimum; one is for the broadcast value.
  /// Long iterations, and numbers in several registers, need one more, since
  /// several numbers are under way.
  int64_t getMaxMr(const InstructionSet &isa) const override {
    const int64_t registers = isa.vectorBits == 256 ? 16 : 32,
                  perVector = kLanes * 32 / isa.vectorBits;
    int64_t beside = 3;
    beside += getFormat().minimums.has_value();
    beside += getKPerIteration() > 4 || perVector > 2;
    const int64_t rows =
        (registers - 1) / (perVector * isa.tileVectors) - beside;
    return std::min(rows, isa.tileRows);
  }

  /// The words, in each element its two's complement.
  Operand loadRhs(CodeEmitter &e, const RhsVector &rhs) const override {
    Value words =
        e.loadVector(e.builder().getI32Type(), getRhsAddress(e, rhs), rhs.mask);
    // w + 128 or w + 8: the upper bit is that of the sign, reversed.
    if (isSigned())
      words = e.builder().create<arith::XOrIOp>(
          e.location(), words,
          e.splatI32(getBits() == 8 ? int32_t(0x80808080)
                                    : int32_t(0x88888888)));
    return {words};
  }

  Value getWhole(CodeEmitter &e, const Operand &words,
                 int64_t k) const override {
    OpBuilder &b = e.builder();
    // Numbers of 4 bits: those of the first four k are the lower halves of the
    // bytes.
    const int64_t position = getBits() == 8 ? 8 * k : k % 4 * 8 + k / 4 * 4,
                  above = 32 - getBits() - position;
    Value word = words[0];
    auto shift = [&](int64_t by) { return e.splatI32(int32_t(by)); };
    if (above)
      word = b.create<arith::ShLIOp>(e.location(), word, shift(above));
    word = isSigned() ? b.create<arith::ShRSIOp>(e.location(), word,
                                                 shift(32 - getBits()))
                            .getResult()
                      : b.create<arith::ShRUIOp>(e.location(), word,
                                                 shift(32 - getBits()))
                            .getResult();
    return b.create<arith::SIToFPOp>(e.location(), e.f32Vector(), word);
  }

  Operand broadcastLhs(CodeEmitter &e, Value pointer, bool) const override {
    return {e.splat(e.loadF32(pointer))};
  }
  Value multiplyAdd(CodeEmitter &e, const Operand &lhs, const Operand &rhs,
                    Value sum) const override {
    return e.fma(lhs[0], rhs[0], sum);
  }

private:
  int64_t getBits() const { return getStorageBits(getFormat().element); }
  bool isSigned() const { return getLowest(getFormat().element) < 0; }
};

} // namespace

std::unique_ptr<OperandLowering>
lower::makeDequantizedLowering(const OperandFormat &format) {
  return std::make_unique<DequantizedLowering>(format);
}
