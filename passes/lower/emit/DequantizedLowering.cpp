// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantized values in groups that become f32 in registers: each is rounded
// once, to the value of the same weight in an f32 model. An iteration reads a
// word per column, with four or eight values for consecutive k.
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

  // Other reads use GroupsLowering.
  Value widen(CodeEmitter &, Value) const override {
    llvm_unreachable("only products dequantize in words");
  }

  /// In addition to its accumulators, a column vector needs registers for its
  /// words, a value, its scale and possibly its offset; one register holds the
  /// broadcast value. Long iterations, and vectors in several registers, need
  /// one more, since several values are in flight.
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

  /// Loads words; each element is in two's complement.
  Operand loadRhs(CodeEmitter &e, const RhsVector &rhs) const override {
    Value words =
        e.loadVector(e.builder().getI32Type(), getRhsAddress(e, rhs), rhs.mask);
    // w + 128 or w + 8: the upper bit is the inverted sign bit.
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
    // 4-bit values for the first four k are in the lower halves of the bytes.
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
