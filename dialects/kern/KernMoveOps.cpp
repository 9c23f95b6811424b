// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the operations on rows and of movements; numbers are those of
// the constraints in the operations' descriptions.
#include "dialects/kern/KernVerify.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Constraint 6: a rounded copy of a norm's result.
static LogicalResult verifyBf16Copy(NormOp op, Value out, Value copy) {
  if (!copy)
    return success();
  if (!isF32(out) || !isBf16(copy) || getBufferType(copy).getKeyPanels())
    return Constraint{op, 6}.expects()
           << "'out_bf16' in rows of bf16 beside outs of f32, got "
           << copy.getType() << " and " << out.getType();
  return verifySameSizes({op, 6}, "outs and 'out_bf16'", out, copy);
}

LogicalResult NormOp::verify() {
  if (failed(verifyRowsOfF32({*this, 1}, "the input", getInput())) ||
      failed(verifyRowsOfFloat({*this, 1}, "outs", getOuts())) ||
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
  return verifyBf16Copy(*this, getOuts(), getOutBf16());
}

LogicalResult CastOp::verify() {
  if (failed(verifyRowsOfF32({*this, 1}, "the input", getInput())))
    return failure();
  if (!isBf16(getOuts()) || getBufferType(getOuts()).getKeyPanels())
    return Constraint{*this, 1}.expects()
           << "rows of bf16 as outs, got " << getOuts().getType();
  return verifySameSizes({*this, 2}, "input and outs", getInput(), getOuts());
}

LogicalResult SoftmaxOp::verify() {
  if (failed(verifyRowsOfF32({*this, 1}, "the input", getInput())) ||
      failed(verifyRowsOfF32({*this, 1}, "outs", getOuts())))
    return failure();
  return verifySameSizes({*this, 2}, "input and outs", getInput(), getOuts());
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

/// True when sizes broadcast to those of the target as in NumPy.
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

/// Constraints 1 to 3: an input and its argument of the region.
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

LogicalResult PositionsOp::verify() {
  for (Value buffer : {getIds(), getOuts()})
    if (!getBufferType(buffer).getElementType().isInteger(64))
      return Constraint{*this, 1}.expects()
             << "i64, got " << getBufferType(buffer).getElementType();
  return verifySameSizes({*this, 2}, "ids and outs", getIds(), getOuts());
}

LogicalResult ColumnsOp::verify() {
  if (!getBufferType(getOuts()).getElementType().isInteger(64))
    return Constraint{*this, 1}.expects()
           << "i64, got " << getBufferType(getOuts()).getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// Movements
//===----------------------------------------------------------------------===//

/// Constraints 1 and 2 of gather_rows and scatter_rows.
static LogicalResult verifyRaggedPair(Operation *op, Value wide, Value ragged) {
  if (failed(verifySameElements({op, 1}, "input and outs", wide, ragged)))
    return failure();
  Sizes outer = getSizes(wide), rows = getSizes(ragged);
  if (outer.size() == rows.size() + 1 && !rows.empty() &&
      ArrayRef(outer).drop_front(2) == ArrayRef(rows).drop_front(1))
    return success();
  return Constraint{op, 2}.expects()
         << ("[batch, columns, ...] and [rows, ...] with "
             "equal rests, got ")
         << text(outer) << " and " << text(rows);
}

LogicalResult GatherRowsOp::verify() {
  if (!isDense(getInput()) || !isDense(getOuts()))
    return Constraint{*this, 3}.expects() << "dense buffers";
  return verifyRaggedPair(*this, getInput(), getOuts());
}

LogicalResult ScatterRowsOp::verify() {
  bool denseInput =
      isDense(getInput()) || (getBufferType(getInput()).getRank() == 2 &&
                              !getBufferType(getInput()).getKeyPanels());
  if (!denseInput || !isDense(getOuts()))
    return Constraint{*this, 3}.expects() << "dense buffers";
  return verifyRaggedPair(*this, getOuts(), getInput());
}

LogicalResult PoolOp::verify() {
  if (failed(verifyRowsOfF32({*this, 1}, "the input", getInput())) ||
      failed(verifyRowsOfFloat({*this, 1}, "outs", getOuts())))
    return failure();
  Sizes input = getSizes(getInput()), outs = getSizes(getOuts());
  if (outs.size() != 2 || input.empty() || input.back() != outs.back())
    return Constraint{*this, 2}.expects()
           << "outs [batch, d] of an input [.., d], got " << text(outs)
           << " and " << text(input);
  if (getMask() && !getBufferType(getMask()).getElementType().isInteger(1))
    return Constraint{*this, 3}.expects()
           << "a bool mask, got " << getBufferType(getMask()).getElementType();
  return success();
}

LogicalResult TransposeOp::verify() {
  Sizes input = getSizes(getInput()), outs = getSizes(getOuts()), expected;
  SmallVector<bool> seen(input.size());
  for (int64_t dim : getPermutation()) {
    if (dim < 0 || dim >= int64_t(input.size()) || seen[dim] ||
        getPermutation().size() != input.size())
      return Constraint{*this, 1}.expects()
             << "a permutation of " << input.size() << " dimensions, got ["
             << getPermutation() << "]";
    seen[dim] = true;
    expected.push_back(input[dim]);
  }
  if (expected != outs)
    return Constraint{*this, 2}.expects()
           << "outs " << text(expected) << ", got " << text(outs);
  return verifySameElements({*this, 3}, "input and outs", getInput(),
                            getOuts());
}

/// Constraint 4: fails where a block of `size` from `at` on ends after `end` by
/// a known number of elements.
static LogicalResult verifyWithin(CopyOp op, const char *name, StringRef at,
                                  const Polynomial &end) {
  Polynomial rest = end - *Polynomial::parse(at.str()) -
                    *Polynomial::parse(op.getSize().str());
  if (rest.constant().value_or(0) >= 0)
    return success();
  return Constraint{op, 4}.expects()
         << "a block within " << name << ", got " << op.getSize() << " from "
         << at << " of " << end.str();
}

LogicalResult CopyOp::verify() {
  Sizes input = getSizes(getInput()), outs = getSizes(getOuts());
  int64_t axis = getAxis();
  if (input.size() != outs.size() || axis < 0 || axis >= int64_t(input.size()))
    return Constraint{*this, 1}.expects()
           << "an axis of both buffers, got " << axis << " of " << text(input)
           << " and " << text(outs);
  if (failed(verifySize({*this, 2}, "from", getFrom())) ||
      failed(verifySize({*this, 2}, "to", getTo())) ||
      failed(verifySize({*this, 2}, "size", getSize())))
    return failure();
  for (size_t i = 0; i < input.size(); ++i)
    if (int64_t(i) != axis && input[i] != outs[i])
      return Constraint{*this, 3}.expects()
             << "equal sizes but of axis " << axis << ", got " << text(input)
             << " and " << text(outs);
  if (failed(verifyWithin(*this, "the input", getFrom(), input[axis])) ||
      failed(verifyWithin(*this, "outs", getTo(), outs[axis])))
    return failure();
  return verifySameElements({*this, 5}, "input and outs", getInput(),
                            getOuts());
}

LogicalResult GatherOp::verify() {
  if (!getBufferType(getIndices()).getElementType().isInteger(64))
    return Constraint{*this, 1}.expects()
           << "i64 indices, got "
           << getBufferType(getIndices()).getElementType();
  Sizes expected = getSizes(getIndices()), table = getSizes(getTable()),
        outs = getSizes(getOuts());
  expected.append(table.empty() ? table.end() : table.begin() + 1, table.end());
  if (table.empty() || expected != outs)
    return Constraint{*this, 2}.expects()
           << "outs " << text(expected) << ", got " << text(outs);
  bool rows = getBufferType(getTable()).getRank() == 2;
  auto inRows = [&](Value buffer) {
    return isDense(buffer) || (rows && getBufferType(buffer).getRank() == 2 &&
                               !getBufferType(buffer).getKeyPanels());
  };
  if (!inRows(getTable()) || !isDense(getIndices()) || !inRows(getOuts()))
    return Constraint{*this, 4}.expects() << "dense buffers";
  return verifySameElements({*this, 3}, "table and outs", getTable(),
                            getOuts());
}
