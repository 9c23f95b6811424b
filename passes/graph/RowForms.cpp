// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One forward traversal. `classify` asks the interfaces of operations that may
// work on rows, and has rules for attention, pooling and tables. An operand
// without a form on rows gives a result without one, with the same cause,
// except for masks, which are recognised by their origin.
#include "passes/graph/RowForms.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace transom::attn;

namespace transom {

RowForms::RowForms(func::FuncOp function, BlockArgument mask)
    : function(function), mask(mask) {
  Dims dims = getDims(mask);
  batch = dims[0];
  seq = dims[1];
  if (std::vector<std::string> names = seq.symbols(); names.size() == 1)
    seqName = names.front();
  for (BlockArgument argument : function.getArguments()) {
    Dims sizes = getDims(argument);
    RowForm form = isRowsShape(sizes)      ? RowForm::Rows
                   : mentionsLength(sizes) ? RowForm::Opaque
                                           : RowForm::Fixed;
    forms[argument] = form;
    if (form == RowForm::Opaque)
      blames[argument] = {function,
                          "an argument has the length in another place than "
                          "the second"};
  }
  for (Operation &op : function.getBody().front().without_terminator())
    visit(&op);
}

RowForm RowForms::of(Value value) const {
  auto it = forms.find(value);
  return it == forms.end() ? RowForm::Opaque : it->second;
}

bool RowForms::mentionsLength(ArrayRef<Polynomial> dims) const {
  return llvm::any_of(dims, [&](const Polynomial &dim) {
    return llvm::is_contained(dim.symbols(), seqName);
  });
}

bool RowForms::isRowsShape(ArrayRef<Polynomial> dims) const {
  return dims.size() >= 2 && dims[0] == batch && dims[1] == seq &&
         !mentionsLength(dims.drop_front(2));
}

Value RowForms::maskedResult(Value result) const {
  auto op = result.getDefiningOp<MaskOp>();
  if (!op || !op.getValue().isZero())
    return {};
  auto axes = maskAxes(op.getMask(), mask);
  return axes && ArrayRef(*axes) == ArrayRef<int64_t>(1) ? op.getScores()
                                                         : Value();
}

std::optional<RowBlame> RowForms::getObstacle(Value result) {
  if (of(result) == RowForm::Opaque)
    return blames.lookup(result);
  if (of(result) == RowForm::Table)
    return RowBlame{result.getDefiningOp(), "a table is a result"};
  if (of(result) == RowForm::Fixed || maskedResult(result))
    return std::nullopt;
  Operation *op = result.getDefiningOp();
  return RowBlame{op ? op : function.getOperation(),
                  "a result keeps its values at padding"};
}

std::optional<RowBlame> RowForms::obstacle() {
  if (seqName.empty() || seq != Polynomial::symbol(seqName))
    return RowBlame{function, "the mask's length is no symbol"};
  if (llvm::is_contained(batch.symbols(), seqName))
    return RowBlame{function, "the mask's batch depends on its length"};
  for (Value result : function.getBody().front().getTerminator()->getOperands())
    if (std::optional<RowBlame> blame = getObstacle(result))
      return blame;
  if (firstReader && orderReader.op)
    return orderReader;
  return std::nullopt;
}

void RowForms::visit(Operation *op) {
  auto [form, reason] = classify(op);
  for (Value result : op->getResults()) {
    forms[result] = form;
    if (form != RowForm::Opaque)
      continue;
    blames[result] = {op, reason};
    if (!reason.empty())
      continue;
    auto cause = llvm::find_if(op->getOperands(), [&](Value operand) {
      return of(operand) == RowForm::Opaque;
    });
    blames[result] = blames.lookup(*cause);
  }
  if (form == RowForm::Rows)
    sawRows = true;
}

/// No operand depends on the length; a slice of a weight may bring it in.
RowForms::Verdict RowForms::classifyFixed(Operation *op) {
  if (op->getNumResults() != 1 || !mentionsLength(getDims(op->getResult(0))))
    return {RowForm::Fixed, ""};
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice || !slice.getInput().getDefiningOp<GetWeightOp>() ||
      slice.getAxis() != 0 || getDims(slice.getInput()).size() != 2)
    return {RowForm::Opaque, "its result has the length from no argument"};
  if (slice.getStart() != 0)
    return {RowForm::Opaque, "a table is cut from a start other than 0"};
  tables[slice.getResult()] = slice.getInput();
  return {RowForm::Table, ""};
}

RowForms::Verdict RowForms::rowsIf(Value value, size_t minRank,
                                   StringRef reason) {
  if (of(value) == RowForm::Opaque)
    return {RowForm::Opaque, ""};
  if (of(value) != RowForm::Rows || getDims(value).size() < minRank)
    return {RowForm::Opaque, reason.str()};
  return {RowForm::Rows, ""};
}

RowForms::Verdict RowForms::classify(Operation *op) {
  if (auto sdpa = dyn_cast<SdpaOp>(op))
    return classifySdpa(sdpa);
  if (auto pool = dyn_cast<PoolOp>(op))
    return classifyPool(pool);
  bool fixed = true;
  for (Value operand : op->getOperands()) {
    if (of(operand) == RowForm::Opaque)
      return {RowForm::Opaque, ""};
    fixed &= of(operand) == RowForm::Fixed;
  }
  if (fixed)
    return classifyFixed(op);
  using Result = Verdict;
  return TypeSwitch<Operation *, Result>(op)
      .Case([&](RopeOp rope) {
        if (of(rope.getRopeTable()) != RowForm::Rows)
          return Result(RowForm::Opaque, "its rope table has no rows");
        return classifyTokenwise(rope);
      })
      .Case([&](TokenwiseOpInterface tokenwise) {
        return classifyTokenwise(tokenwise);
      })
      .Case([&](ReshapeOp reshape) {
        return of(reshape.getInput()) == RowForm::Table
                   ? classifyReshapeOfTable(reshape)
                   : classifyRowwise(reshape);
      })
      .Case([&](SliceOp slice) { return classifySlice(slice); })
      .Case(
          [&](RowwiseOpInterface rowwise) { return classifyRowwise(rowwise); })
      .Default([](Operation *) {
        return Result(RowForm::Opaque, "it is not known to work on rows");
      });
}

RowForms::Verdict RowForms::classifyTokenwise(TokenwiseOpInterface op) {
  if (op.isElementwise())
    return classifyElementwise(op);
  int64_t rank = op.getMinRowRank();
  return rowsIf(op.getTokenInput(), 2 + rank,
                rank > 0 ? "it works along the length"
                         : "its input has no rows");
}

RowForms::Verdict RowForms::classifyElementwise(Operation *op) {
  Dims result = getDims(op->getResult(0));
  if (!isRowsShape(result))
    return {RowForm::Opaque, "its result has no rows"};
  for (Value operand : op->getOperands()) {
    Dims dims = getDims(operand);
    RowForm form = of(operand);
    if (form == RowForm::Rows && dims.size() != result.size())
      return {RowForm::Opaque, "it spreads rows along further dimensions"};
    if (form == RowForm::Table && result.size() != 3)
      return {RowForm::Opaque, "a table goes to other than [batch, seq, d]"};
    if (form != RowForm::Fixed)
      continue;
    size_t missing = result.size() - dims.size();
    for (size_t axis = missing; axis < 2; ++axis)
      if (dims[axis - missing] != Polynomial(1))
        return {RowForm::Opaque, "it spreads one value a sequence over rows"};
  }
  return {RowForm::Rows, ""};
}

RowForms::Verdict RowForms::classifyRowwise(RowwiseOpInterface op) {
  auto isRows = [&](Value value) { return of(value) == RowForm::Rows; };
  auto isFixed = [&](Value value) { return of(value) == RowForm::Fixed; };
  auto hasRowsShape = [&](Value value) { return isRowsShape(getDims(value)); };
  StringRef obstacle = op.getRowObstacle({isRows, isFixed, hasRowsShape});
  return {obstacle.empty() ? RowForm::Rows : RowForm::Opaque, obstacle.str()};
}

RowForms::Verdict RowForms::classifyReshapeOfTable(ReshapeOp op) {
  Dims from = getDims(op.getInput()), to = getDims(op.getResult());
  if (to.size() == 3 && to[0] == Polynomial(1) &&
      ArrayRef(to).take_back(2) == ArrayRef(from).take_back(2)) {
    tables[op.getResult()] = tables.lookup(op.getInput());
    return {RowForm::Table, ""};
  }
  return {RowForm::Opaque, "it reshapes a table"};
}

/// Column 0 of rows is the first row of each sequence.
RowForms::Verdict RowForms::classifySlice(SliceOp op) {
  if (of(op.getInput()) == RowForm::Rows && op.getAxis() == 1 &&
      op.getStart() == 0 && op.getSize().getPolynomial() == Polynomial(1) &&
      getDims(op.getInput()).size() == 3 &&
      isa<FloatType>(getElementTypeOrSelf(op.getInput()))) {
    firstReader = op;
    sawRows = true;
    return {RowForm::Fixed, ""};
  }
  return classifyRowwise(op);
}

RowForms::Verdict RowForms::classifyPool(PoolOp op) {
  if (of(op.getInput()) == RowForm::Fixed)
    return {RowForm::Fixed, ""};
  if (of(op.getInput()) != RowForm::Rows)
    return {RowForm::Opaque, ""};
  bool first = op.getKind() == PoolKind::First;
  if (!op.getMask() && !first)
    return {RowForm::Opaque, "it pools padding too, without the mask"};
  if (op.getMask()) {
    auto axes = maskAxes(op.getMask(), mask);
    if (!axes || ArrayRef(*axes) != ArrayRef<int64_t>(1))
      return {RowForm::Opaque, "its mask does not follow from the argument"};
  }
  if (first)
    firstReader = op;
  sawRows = true;
  return {RowForm::Fixed, ""};
}

RowForms::Verdict RowForms::classifySdpa(SdpaOp op) {
  bool fixed = true;
  for (Value operand : {op.getQuery(), op.getKey(), op.getValue()}) {
    if (of(operand) == RowForm::Opaque)
      return {RowForm::Opaque, ""};
    fixed &= of(operand) == RowForm::Fixed;
  }
  if (fixed)
    return classifyFixed(op);
  for (Value operand : {op.getQuery(), op.getKey(), op.getValue()})
    if (of(operand) != RowForm::Rows || getDims(operand).size() != 3)
      return {RowForm::Opaque, "attention reads keys of another length"};
  for (Value bias : {op.getSlopes(), op.getRelativeBias()})
    if (bias && of(bias) != RowForm::Fixed)
      return {RowForm::Opaque, "a bias of attention depends on the length"};
  if (op.getMaskValue())
    return {RowForm::Opaque, "attention has a finite masked value"};
  return classifySdpaMask(op);
}

RowForms::Verdict RowForms::classifySdpaMask(SdpaOp op) {
  MaskKind kind = op.getMaskKind();
  if (kind == MaskKind::None)
    return {RowForm::Opaque, "attention has no mask"};
  if (kind == MaskKind::Additive)
    return {RowForm::Opaque, "attention adds a mask"};
  auto axes = maskAxes(op.getMask(), mask);
  Verdict other = {RowForm::Opaque, "attention has a mask of other origin"};
  if (!axes)
    return other;
  bool queries = false;
  if (kind == MaskKind::Keys) {
    if (ArrayRef(*axes) != ArrayRef<int64_t>(1))
      return other;
  } else {
    queries = llvm::is_contained(*axes, 2);
    if (getDims(op.getMask()).size() != 4 || !llvm::is_contained(*axes, 3) ||
        axes->size() != (queries ? 2u : 1u))
      return other;
  }
  if (queries)
    orderReader = {op, "attention masks queries, and column 0 is read"};
  // By the column, a hidden column 0 is in order too.
  bool byColumn = op.getWindow() || op.getSlopes() || op.getRelativeBias();
  if (op.getCausal() && !byColumn)
    orderReader = {op, "attention is causal, and column 0 is read"};
  return {RowForm::Rows, ""};
}

} // namespace transom
