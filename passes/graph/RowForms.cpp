// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One forward traversal. `classify` uses the interfaces for operations that may
// work on rows, and has rules for attention, pooling and tables. A result of an
// opaque operand is opaque with the same cause, except for masks, which are
// recognized by their origin.
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
      blames[argument] = {
          function,
          RemarkReason(RemarkId::ArgumentHasLengthElsewhere,
                       {{"argument", Value(argument)}, {"sizes", sizes}})};
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
    return RowBlame{result.getDefiningOp(),
                    RemarkReason(RemarkId::TableIsAResult)};
  if (of(result) == RowForm::Fixed || maskedResult(result))
    return std::nullopt;
  Operation *op = result.getDefiningOp();
  return RowBlame{op ? op : function.getOperation(),
                  RemarkReason(RemarkId::ResultKeepsPadding)};
}

std::optional<RowBlame> RowForms::obstacle() {
  if (seqName.empty() || seq != Polynomial::symbol(seqName))
    return RowBlame{function, RemarkReason(RemarkId::MaskLengthIsNotASymbol,
                                           {{"sizes", getDims(mask)}})};
  if (llvm::is_contained(batch.symbols(), seqName))
    return RowBlame{function, RemarkReason(RemarkId::MaskBatchDependsOnLength,
                                           {{"sizes", getDims(mask)}})};
  for (Value result : function.getBody().front().getTerminator()->getOperands())
    if (std::optional<RowBlame> blame = getObstacle(result))
      return blame;
  if (firstReader && orderReader.op) {
    orderReader.reason->args.emplace_back("reader", firstReader);
    return orderReader;
  }
  return std::nullopt;
}

void RowForms::visit(Operation *op) {
  Verdict verdict = classify(op);
  for (Value result : op->getResults()) {
    forms[result] = verdict.form;
    if (verdict.form != RowForm::Opaque)
      continue;
    blames[result] = {op, verdict.reason};
    if (verdict.reason)
      continue;
    auto cause = llvm::find_if(op->getOperands(), [&](Value operand) {
      return of(operand) == RowForm::Opaque;
    });
    blames[result] = blames.lookup(*cause);
  }
  if (verdict.form == RowForm::Rows)
    sawRows = true;
}

/// No operand depends on the length; a slice of a weight or constant may
/// introduce it.
RowForms::Verdict RowForms::classifyFixed(Operation *op) {
  if (op->getNumResults() != 1 || !mentionsLength(getDims(op->getResult(0))))
    return RowForm::Fixed;
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice ||
      !isa_and_nonnull<GetWeightOp, ConstantOp>(
          slice.getInput().getDefiningOp()) ||
      slice.getAxis() != 0 || getDims(slice.getInput()).size() != 2)
    return {RemarkId::LengthFromNoArgument,
            {{"sizes", getDims(op->getResult(0))}}};
  if (slice.getStart() != 0)
    return {RemarkId::TableIsCutInside,
            {{"start", static_cast<int64_t>(slice.getStart())}}};
  tables[slice.getResult()] = slice.getInput();
  return RowForm::Table;
}

RowForms::Verdict RowForms::classify(Operation *op) {
  if (auto sdpa = dyn_cast<SdpaOp>(op))
    return classifySdpa(sdpa);
  if (auto pool = dyn_cast<PoolOp>(op))
    return classifyPool(pool);
  if (auto neighbors = dyn_cast<NeighborsOp>(op))
    return classifyNeighbors(neighbors);
  // Opaque operands make the result opaque; fixed ones keep it fixed.
  bool fixed = true;
  for (Value operand : op->getOperands()) {
    if (of(operand) == RowForm::Opaque)
      return RowForm::Opaque;
    fixed &= of(operand) == RowForm::Fixed;
  }
  if (fixed)
    return classifyFixed(op);
  // Otherwise some operands are rows or tables.
  return TypeSwitch<Operation *, Verdict>(op)
      .Case([&](RopeOp rope) -> Verdict {
        if (of(rope.getRopeTable()) != RowForm::Rows)
          return {RemarkId::RopeTableHasNoRows,
                  {{"sizes", getDims(rope.getRopeTable())}}};
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
      .Default([](Operation *) { return Verdict(RemarkId::UnknownOnRows); });
}

RowForms::Verdict RowForms::classifyTokenwise(TokenwiseOpInterface op) {
  if (op.isElementwise())
    return classifyElementwise(op);
  Value input = op.getTokenInput();
  size_t rank = op.getMinRowRank();
  if (of(input) == RowForm::Opaque)
    return RowForm::Opaque;
  if (of(input) == RowForm::Rows && getDims(input).size() >= 2 + rank)
    return RowForm::Rows;
  // If ids are fixed, all operands are fixed, so the operation's rows have a
  // dimension here.
  return {RemarkId::WorksAlongLength, {{"sizes", getDims(input)}}};
}

RowForms::Verdict RowForms::classifyElementwise(Operation *op) {
  Dims result = getDims(op->getResult(0));
  if (!isRowsShape(result))
    return {RemarkId::ResultHasNoRows, {{"sizes", result}}};
  for (Value operand : op->getOperands()) {
    // The last axes are aligned, so rows and tables have the same number of
    // axes as a result with rows.
    if (of(operand) != RowForm::Fixed)
      continue;
    Dims dims = getDims(operand);
    size_t missing = result.size() - dims.size();
    for (size_t axis = missing; axis < 2; ++axis)
      if (dims[axis - missing] != Polynomial(1))
        return {RemarkId::SpreadsValueOfSequence,
                {{"operand", dims}, {"sizes", result}}};
  }
  return RowForm::Rows;
}

static RemarkId getReasonId(RowObstacle obstacle) {
  switch (obstacle) {
  case RowObstacle::None:
    break;
  case RowObstacle::MixesPositions:
    return RemarkId::ProductMixesPositions;
  case RowObstacle::MovesBatchOrLength:
    return RemarkId::MovesBatchOrLength;
  case RowObstacle::InputHasNoRows:
    return RemarkId::InputHasNoRows;
  case RowObstacle::JoinsBatchOrLength:
    return RemarkId::JoinsBatchOrLength;
  case RowObstacle::JoinsRowsWithOthers:
    return RemarkId::JoinsRowsWithOthers;
  case RowObstacle::CutsBatchOrLength:
    return RemarkId::CutsBatchOrLength;
  case RowObstacle::LookupTableDependsOnLength:
    return RemarkId::LookupTableDependsOnLength;
  case RowObstacle::IndicesHaveNoRows:
    return RemarkId::IndicesHaveNoRows;
  }
  llvm_unreachable("no obstacle");
}

RowForms::Verdict RowForms::classifyRowwise(RowwiseOpInterface op) {
  auto isRows = [&](Value value) { return of(value) == RowForm::Rows; };
  auto isFixed = [&](Value value) { return of(value) == RowForm::Fixed; };
  auto hasRowsShape = [&](Value value) { return isRowsShape(getDims(value)); };
  RowObstacle obstacle = op.getRowObstacle({isRows, isFixed, hasRowsShape});
  if (obstacle == RowObstacle::None)
    return RowForm::Rows;
  if (obstacle == RowObstacle::InputHasNoRows)
    return {RemarkId::InputHasNoRows, {{"sizes", getDims(op->getOperand(0))}}};
  return {getReasonId(obstacle),
          {{"operand", getDims(op->getOperand(0))},
           {"sizes", getDims(op->getResult(0))}}};
}

RowForms::Verdict RowForms::classifyReshapeOfTable(ReshapeOp op) {
  Dims from = getDims(op.getInput()), to = getDims(op.getResult());
  if (to.size() == 3 && to[0] == Polynomial(1) &&
      ArrayRef(to).take_back(2) == ArrayRef(from).take_back(2)) {
    tables[op.getResult()] = tables.lookup(op.getInput());
    return RowForm::Table;
  }
  return {RemarkId::ReshapesTable, {{"operand", from}, {"sizes", to}}};
}

/// Column 0 is the first row in each sequence.
RowForms::Verdict RowForms::classifySlice(SliceOp op) {
  if (of(op.getInput()) == RowForm::Rows && op.getAxis() == 1 &&
      op.getStart() == 0 && op.getSize().getPolynomial() == Polynomial(1) &&
      getDims(op.getInput()).size() == 3 &&
      isa<FloatType>(getElementTypeOrSelf(op.getInput()))) {
    firstReader = op;
    sawRows = true;
    return RowForm::Fixed;
  }
  return classifyRowwise(op);
}

bool RowForms::isPaddingMask(Value keys) const {
  auto axes = maskAxes(keys, mask);
  return axes && ArrayRef(*axes) == ArrayRef<int64_t>(1);
}

bool RowForms::hidesPadding(Value keys) const {
  auto both = keys.getDefiningOp<AndOp>();
  return isPaddingMask(keys) ||
         (both && of(keys) == RowForm::Rows &&
          llvm::any_of(both->getOperands(),
                       [&](Value each) { return hidesPadding(each); }));
}

Value RowForms::getMaskOnRows(PoolOp op) const {
  const bool isRead = op.getMask() && op.getKind() != PoolKind::First;
  return isRead && !isPaddingMask(op.getMask()) ? op.getMask() : Value();
}

RowForms::Verdict RowForms::classifyPool(PoolOp op) {
  if (of(op.getInput()) == RowForm::Fixed)
    return RowForm::Fixed;
  if (of(op.getInput()) != RowForm::Rows)
    return RowForm::Opaque;
  bool first = op.getKind() == PoolKind::First;
  if (!op.getMask() && !first)
    return RemarkId::PoolsPadding;
  if (!first && !hidesPadding(op.getMask()))
    return {RemarkId::PoolMaskOfOtherOrigin, {{"mask", op.getMask()}}};
  if (first)
    firstReader = op;
  sawRows = true;
  return RowForm::Fixed;
}

/// A token that the mask hides counts as zeros, like a token without a row.
RowForms::Verdict RowForms::classifyNeighbors(NeighborsOp op) {
  if (of(op.getInput()) == RowForm::Fixed)
    return classifyFixed(op);
  if (of(op.getInput()) != RowForm::Rows)
    return RowForm::Opaque;
  if (!op.getMask())
    return RemarkId::NeighborsArePadding;
  if (!isPaddingMask(op.getMask()))
    return {RemarkId::NeighborMaskOfOtherOrigin, {{"mask", op.getMask()}}};
  return RowForm::Rows;
}

RowForms::Verdict RowForms::classifySdpa(SdpaOp op) {
  bool fixed = true;
  for (Value operand : {op.getQuery(), op.getKey(), op.getValue()}) {
    if (of(operand) == RowForm::Opaque)
      return RowForm::Opaque;
    fixed &= of(operand) == RowForm::Fixed;
  }
  if (fixed)
    return classifyFixed(op);
  for (Value operand : {op.getQuery(), op.getKey(), op.getValue()})
    if (of(operand) != RowForm::Rows || getDims(operand).size() != 3)
      return {RemarkId::KeysOfOtherLength, {{"operand", operand}}};
  for (Value bias : {op.getSlopes(), op.getRelativeBias(), op.getPositionKeys(),
                     op.getPositionQueries()})
    if (bias && of(bias) != RowForm::Fixed)
      return {RemarkId::BiasDependsOnLength, {{"bias", bias}}};
  if (op.getMaskValue())
    return {RemarkId::FiniteMaskedValue,
            {{"value", op.getMaskValue()->convertToDouble()}}};
  return classifySdpaMask(op);
}

RowForms::Verdict RowForms::classifySdpaMask(SdpaOp op) {
  MaskKind kind = op.getMaskKind();
  if (kind == MaskKind::None)
    return RemarkId::AttentionHasNoMask;
  if (kind == MaskKind::Additive)
    return {RemarkId::AttentionAddsMask, {{"mask", op.getMask()}}};
  auto axes = maskAxes(op.getMask(), mask);
  Verdict other = {RemarkId::AttentionMaskOfOtherOrigin,
                   {{"mask", op.getMask()}}};
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
    orderReader = {op, RemarkReason(RemarkId::FirstColumnOfMaskedQueries)};
  // By column, a hidden column 0 is also in order.
  bool byColumn = op.getWindow() || op.getSlopes() || op.getRelativeBias() ||
                  op.getPositionBuckets();
  if (op.getCausal() && !byColumn)
    orderReader = {op, RemarkReason(RemarkId::FirstColumnOfCausalAttention)};
  return RowForm::Rows;
}

} // namespace transom
