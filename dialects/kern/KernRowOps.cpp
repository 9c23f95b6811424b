// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations on rows: reads, writes, output rounding and verifiers. Constraint
// numbers refer to the op descriptions.
#include "dialects/kern/KernBufferOp.h"
#include "dialects/kern/KernVerify.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

bool CastOp::acceptsStride() { return true; }
bool ElementwiseOp::acceptsStride() { return true; }
bool EmbeddingOp::acceptsStride() { return true; }
bool EmbeddingOp::gathersWeight() { return true; }
bool NormOp::acceptsStride() { return true; }

BUFFER_OP(CastOp, (ValueRange{getInput()}), getRows(getOuts()), Polynomial())
bool QuantizeOp::acceptsStride() { return true; }
SmallVector<Value> QuantizeOp::readBuffers() { return {getInput()}; }
SmallVector<Value> QuantizeOp::writtenBuffers() {
  return {getOuts(), getScales()};
}
std::optional<Polynomial> QuantizeOp::ownedRows() { return getRows(getOuts()); }
Polynomial QuantizeOp::flops() {
  return Polynomial(4) * getElementCount(getOuts());
}
BUFFER_OP(SoftmaxOp, (ValueRange{getInput()}), getRows(getOuts()),
          Polynomial(10) * getElementCount(getOuts()))
BUFFER_OP(RowSummaryOp, (ValueRange{getInput()}), std::nullopt,
          Polynomial(10) * getElementCount(getInput()))
BUFFER_OP(EmbeddingOp, getIds(), getRows(getOuts()), getElementCount(getOuts()))

/// In an elementwise operation workers own rows in `outs` if each input has the
/// same rows, or one row for all.
static std::optional<Polynomial> elementwiseRows(ElementwiseOp op) {
  Polynomial rows = getBufferType(op.getOuts()).getRowCount();
  for (Value input : getBuffers(op.getInputs())) {
    Polynomial inputRows = getBufferType(input).getRowCount();
    if (inputRows != rows && inputRows != Polynomial(1))
      return std::nullopt;
  }
  return rows;
}
BUFFER_OP(ElementwiseOp, getInputs(), elementwiseRows(*this),
          getElementCount(getOuts()) *
              Polynomial(getBody().front().getOperations().size() - 1))

SmallVector<Value> NormOp::readBuffers() { return {getInput()}; }
SmallVector<Value> NormOp::writtenBuffers() {
  return getBuffers({getOuts(), getCopy(), getScales()});
}
std::optional<Polynomial> NormOp::ownedRows() { return getRows(getOuts()); }
Polynomial NormOp::flops() {
  return Polynomial(8) * getElementCount(getOuts());
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

bool NormOp::canRoundOutput(Value out, const RoundedBuffer &, bool,
                            RoundObstacle &obstacle) {
  if (getOuts() == out && !getCopy() && isF32(out))
    return true;
  obstacle = RoundObstacle::AnotherResult;
  return false;
}

void NormOp::roundOutput(Value, const RoundedBuffer &rounded,
                         bool onlyRounded) {
  if (onlyRounded)
    getOutsMutable().assign(rounded.numbers);
  else
    getCopyMutable().assign(rounded.numbers);
  if (rounded.scales)
    getScalesMutable().assign(rounded.scales);
}

bool ElementwiseOp::canRoundOutput(Value out, const RoundedBuffer &rounded,
                                   bool onlyRounded, RoundObstacle &obstacle) {
  return replacesOut(getOuts(), out, rounded, onlyRounded, obstacle);
}

void ElementwiseOp::roundOutput(Value, const RoundedBuffer &rounded, bool) {
  auto yield = llvm::cast<YieldOp>(getBody().front().back());
  OpBuilder b(yield);
  yield.getValueMutable().assign(
      b.create<arith::TruncFOp>(getLoc(), b.getBF16Type(), yield.getValue()));
  getOutsMutable().assign(rounded.numbers);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Constraints 6 and 7: a rounded copy of a norm's result, and its scales.
static LogicalResult verifyRounded(NormOp op) {
  Value out = op.getOuts(), copy = op.getCopy();
  if (copy) {
    if (!isF32(out) || !isRoundedRows(copy))
      return Constraint{op, 6}.expects()
             << "'copy' in rows of bf16 or i8 beside outs of f32, got "
             << copy.getType() << " and " << out.getType();
    if (failed(verifySameSizes({op, 6}, "outs and 'copy'", out, copy)))
      return failure();
  }
  return verifyQuantized({op, 7}, copy ? copy : out, op.getScales());
}

LogicalResult NormOp::verify() {
  if (failed(verifyRowsOfF32({*this, 1}, "the input", getInput())) ||
      (!isRoundedRows(getOuts()) &&
       failed(verifyRowsOfF32({*this, 1}, "outs", getOuts()))) ||
      failed(
          verifySameSizes({*this, 2}, "input and outs", getInput(), getOuts())))
    return failure();
  Sizes sizes = getSizes(getInput());
  std::optional<int64_t> width =
      sizes.empty() ? std::nullopt : sizes.back().constant();
  if (!width)
    return Constraint{*this, 3}.expects()
           << "a constant last size, got " << text(sizes);
  if (failed(verifyVector({*this, 4}, "gamma", getGamma(), *width,
                          WeightLayout::Rows)) ||
      (getBeta() && failed(verifyVector({*this, 4}, "beta", getBeta(), *width,
                                        WeightLayout::Rows))))
    return failure();
  if (!(getEps().convertToDouble() >= 0))
    return Constraint{*this, 5}.expects()
           << "'eps' that is not negative, got " << getEps().convertToDouble();
  return verifyRounded(*this);
}

LogicalResult CastOp::verify() {
  if (failed(verifyRowsOfF32({*this, 1}, "the input", getInput())))
    return failure();
  if (!isBf16(getOuts()) || getBufferType(getOuts()).getKeyPanels())
    return Constraint{*this, 1}.expects()
           << "rows of bf16 as outs, got " << getOuts().getType();
  return verifySameSizes({*this, 2}, "input and outs", getInput(), getOuts());
}

LogicalResult QuantizeOp::verify() {
  if (failed(verifyRowsOfF32({*this, 1}, "the input", getInput())))
    return failure();
  if (!getBufferType(getOuts()).getElementType().isInteger(8))
    return Constraint{*this, 1}.expects()
           << "rows of i8 as outs, got " << getOuts().getType();
  if (failed(
          verifySameSizes({*this, 2}, "input and outs", getInput(), getOuts())))
    return failure();
  Sizes sizes = getSizes(getInput());
  std::optional<int64_t> width =
      sizes.empty() ? std::nullopt : sizes.back().constant();
  if (!width || *width % 4)
    return Constraint{*this, 3}.expects()
           << "a constant last size that is a multiple of 4, got "
           << text(sizes);
  const auto group = static_cast<int64_t>(getGroup());
  if (!llvm::is_contained(quantizedGroups, group))
    return Constraint{*this, 4}.expects()
           << "a group of one of the sizes " << quantizedGroupNames << ", got "
           << group;
  return verifyScales({*this, 5}, getInput(), getScales(), group);
}

LogicalResult SoftmaxOp::verify() {
  if (failed(verifyRowsOfF32({*this, 1}, "the input", getInput())) ||
      failed(verifyRowsOfF32({*this, 1}, "outs", getOuts())))
    return failure();
  return verifySameSizes({*this, 2}, "input and outs", getInput(), getOuts());
}

LogicalResult RowSummaryOp::verify() {
  if (failed(verifyRowsOfF32({*this, 1}, "the input", getInput())))
    return failure();
  for (Value out : getOuts())
    if (failed(verifyRowsOfF32({*this, 1}, "outs", out)))
      return failure();
  return verifySummary({*this, 2}, getInput(), getOuts());
}

LogicalResult EmbeddingOp::verify() {
  if (getIds().empty() || getScales().size() != getTables().size())
    return Constraint{*this, 1}.expects()
           << "an id and a scale for each table, got " << getIds().size()
           << " ids, " << getTables().size() << " tables, "
           << getScales().size() << " scales";
  if (failed(verifyRowsOfF32({*this, 2}, "outs", getOuts())))
    return failure();
  for (Value ids : getIds())
    if (!getBufferType(ids).getElementType().isInteger(64) ||
        product(getSizes(ids)) != getBufferType(getOuts()).getRowCount())
      return Constraint{*this, 3}.expects()
             << "an i64 id for each row of outs, got " << ids.getType();
  for (Value table : getTables()) {
    Sizes sizes = getSizes(table), outs = getSizes(getOuts());
    if (sizes.size() != 2 || outs.empty() || sizes[1] != outs.back())
      return Constraint{*this, 4}.expects()
             << "a table with the width of outs, got " << text(sizes) << " and "
             << text(outs);
    auto type = llvm::cast<WeightType>(table.getType());
    if (type.getLayout() == WeightLayout::Panels32 && !type.getSplits().empty())
      return Constraint{*this, 5}.expects()
             << "a table in panels without splits";
  }
  return success();
}

/// True if sizes broadcast to the target as in NumPy.
static bool broadcasts(ArrayRef<Polynomial> sizes,
                       ArrayRef<Polynomial> target) {
  if (sizes.size() > target.size())
    return llvm::all_of(
        sizes, [](const Polynomial &size) { return size == Polynomial(1); });
  for (size_t i = 1; i <= sizes.size(); ++i)
    if (sizes[sizes.size() - i] != Polynomial(1) &&
        sizes[sizes.size() - i] != target[target.size() - i])
      return false;
  return true;
}

/// Constraints 1 to 3: an input and its region argument.
static LogicalResult verifyInput(ElementwiseOp op, Value input,
                                 BlockArgument argument) {
  auto weight = llvm::dyn_cast<WeightType>(input.getType());
  auto buffer = llvm::dyn_cast<BufferType>(input.getType());
  if ((!weight && !buffer) || (buffer && buffer.getKeyPanels()) ||
      (weight && weight.getLayout() != WeightLayout::Rows &&
       weight.getLayout() != WeightLayout::Unset))
    return Constraint{op, 1}.expects()
           << "buffers or weights in rows as inputs, got " << input.getType();
  if (!broadcasts(getSizes(input), getSizes(op.getOuts())))
    return Constraint{op, 2}.expects()
           << "inputs that broadcast to " << text(getSizes(op.getOuts()))
           << ", got " << text(getSizes(input));
  Type element = weight ? weight.getElementType() : buffer.getElementType();
  if (argument.getType() != element)
    return Constraint{op, 3}.expects() << "a region argument of " << element
                                       << ", got " << argument.getType();
  return success();
}

LogicalResult ElementwiseOp::verify() {
  // Check the region's arguments.
  Block &block = getBody().front();
  if (getBufferType(getOuts()).getKeyPanels())
    return Constraint{*this, 1}.expects() << "rows as outs, got key panels";
  if (block.getNumArguments() != getInputs().size())
    return Constraint{*this, 3}.expects()
           << "a region argument for each input, got "
           << block.getNumArguments() << " and " << getInputs().size();
  for (auto [input, argument] : llvm::zip(getInputs(), block.getArguments()))
    if (failed(verifyInput(*this, input, argument)))
      return failure();
  // Check the operations in the region.
  auto yield =
      block.empty() ? YieldOp() : llvm::dyn_cast<YieldOp>(block.back());
  if (!yield ||
      yield.getValue().getType() != getBufferType(getOuts()).getElementType())
    return Constraint{*this, 4}.expects()
           << "a region that yields "
           << getBufferType(getOuts()).getElementType();
  for (Operation &op : block)
    if (&op != yield && op.getName().getDialectNamespace() != "arith" &&
        !llvm::isa<ApplyOp>(op))
      return mlir::emitError(op.getLoc())
             << "'kern.elementwise' op (5) expects arith operations and "
                "'kern.apply' in its region, got '"
             << op.getName() << "'";
  return success();
}
