// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs: reads, writes and verifiers. Constraint numbers refer to the op
// descriptions.
#include "dialects/kern/KBlockLimits.h"
#include "dialects/kern/KernBufferOp.h"
#include "dialects/kern/KernVerify.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

BUFFER_OP(BatchMatmulOp, (ValueRange{getLhs(), getRhs()}), std::nullopt,
          Polynomial(2) * getElementCount(getOuts()) *
              getBufferType(getLhs()).getDims().back())

bool HeadGemmOp::acceptsStride() { return true; }
BUFFER_OP(HeadGemmOp, (ValueRange{getInput()}), std::nullopt,
          Polynomial(2) * getElementCount(getOuts()) *
              Polynomial(getWeight().getType().getShape().back()))

bool GemmOp::acceptsStride() { return true; }

std::optional<Activation> GemmOp::getActivation() {
  EpilogueAttr epilogue = getEpilogueAttr();
  if (!epilogue || !epilogue.getActivation() || epilogue.getGlu())
    return std::nullopt;
  return epilogue.getActivation().getValue();
}

std::optional<Activation> GemmOp::getGlu() {
  EpilogueAttr epilogue = getEpilogueAttr();
  if (!epilogue || !epilogue.getGlu())
    return std::nullopt;
  return epilogue.getActivation().getValue();
}

std::optional<APFloat> GemmOp::getNormEps() {
  EpilogueAttr epilogue = getEpilogueAttr();
  if (!epilogue || epilogue.getNorm() == NormKind::None)
    return std::nullopt;
  return epilogue.getEps().getValue();
}

bool GemmOp::getNormRms() {
  EpilogueAttr epilogue = getEpilogueAttr();
  return epilogue && epilogue.getNorm() == NormKind::RmsNorm;
}

SmallVector<Value> GemmOp::readBuffers() {
  return getBuffers(
      {getInput(), getInputScales(), getResidual(), getColumns()});
}
SmallVector<Value> GemmOp::writtenBuffers() {
  SmallVector<Value> writes(getOuts());
  llvm::append_range(writes, getBuffers({getNormOut(), getNormCopy(),
                                         getOutScales(), getNormCounters()}));
  llvm::append_range(writes, getSummary());
  llvm::append_range(writes, getBuffers(getPanels()));
  return writes;
}
std::optional<Polynomial> GemmOp::ownedRows() { return std::nullopt; }
bool GemmOp::gathersWeight() { return bool(getColumns()); }
Polynomial GemmOp::flops() {
  ArrayRef<int64_t> shape = getWeight().getType().getShape();
  const Polynomial columns =
      getColumns() ? getElementCount(getColumns()) : Polynomial(shape[0]);
  return Polynomial(2 * shape[1]) * columns *
         getBufferType(getInput()).getRowCount();
}

GemmOp::ColumnPanel GemmOp::getColumnPanel() {
  constexpr int64_t line = 64;
  ColumnPanel panel;
  panel.bias = llvm::alignTo(getWeight().getType().getPanelBytes(), line);
  panel.numbers = panel.bias + (getBias() ? panelWidth * 4 : 0);
  panel.bytes = panel.numbers + panelWidth * 8;
  return panel;
}

bool GemmOp::canRoundOutput(Value out, const RoundedBuffer &rounded,
                            bool onlyRounded, RoundObstacle &obstacle) {
  if (getNormOut() == out && !getNormCopy())
    return true;
  WeightType weight = getWeight().getType();
  if (!onlyRounded)
    obstacle = RoundObstacle::ReadInF32;
  else if (getColumns())
    obstacle = RoundObstacle::NotSupported;
  else if (!rounded.scales && weight.getShape()[1] > getMaxKBlock(weight))
    obstacle = RoundObstacle::LongK;
  else if (!getSummary().empty())
    obstacle = RoundObstacle::Summary;
  else if (getNormGamma() || !llvm::is_contained(getOuts(), out))
    obstacle = RoundObstacle::AnotherResult;
  else if (rounded.scales && getOuts().size() > 1)
    obstacle = RoundObstacle::SeveralResults;
  else
    return true;
  return false;
}

void GemmOp::roundOutput(Value out, const RoundedBuffer &rounded,
                         bool onlyRounded) {
  if (rounded.scales)
    getOutScalesMutable().assign(rounded.scales);
  if (getNormOut() == out) {
    getNormCopyMutable().assign(rounded.numbers);
    if (onlyRounded)
      getNormOutMutable().clear();
    return;
  }
  for (OpOperand &own : getOutsMutable())
    if (own.get() == out) {
      own.set(rounded.numbers);
      return;
    }
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Constraint 1; a grouped weight has an i8 input.
static LogicalResult verifyGemmInput(GemmOp op) {
  BufferType input = getBufferType(op.getInput());
  if (input.getElementType().isInteger(8))
    return success();
  return verifyRowsOfFloat({op, 1}, "the input", op.getInput());
}

/// Constraints 2 to 6, 25 and 28: operands from the artifact.
static LogicalResult verifyGemmWeights(GemmOp op) {
  WeightType type = op.getWeight().getType();
  Sizes input = getSizes(op.getInput());
  if (type.getShape().size() != 2 || input.empty() ||
      input.back() != Polynomial(type.getShape()[1]))
    return Constraint{op, 2}.expects()
           << "a weight [n, k] and an input [.., k], got "
           << text(getSizes(op.getWeight())) << " and " << text(input);
  if (failed(verifyLayout({op, 3}, "the weight", op.getWeight(),
                          WeightLayout::Panels32)))
    return failure();
  if (failed(verifyProductInput(op, 4, 25, 28)))
    return failure();
  if (!op.getBias())
    return success();
  if (failed(verifyVector({op, 5}, "a bias", op.getBias(), type.getShape()[0],
                          WeightLayout::Padded32)))
    return failure();
  if (llvm::cast<WeightType>(op.getBias().getType()).getSplits() !=
      type.getSplits())
    return Constraint{op, 6}.expects() << "weight and bias with equal splits";
  return success();
}

/// Constraints 7 to 12: the outs.
static LogicalResult verifyGemmOuts(GemmOp op) {
  if (op.getColumns())
    return success(); // constraint 30
  // Without splits there is one out.
  WeightType type = op.getWeight().getType();
  SmallVector<int64_t> splits(type.getSplits());
  if (splits.empty())
    splits.push_back(op.getGlu() ? type.getShape()[0] / 2 : type.getShape()[0]);
  if (op.getOuts().size() != splits.size())
    return Constraint{op, 7}.expects()
           << "an out for each of " << splits.size()
           << " splits of the weight, got " << op.getOuts().size();
  // Check each out's columns, type and rows.
  bool keys = false;
  for (auto [out, split] : llvm::zip(op.getOuts(), splits)) {
    Sizes sizes = getSizes(out);
    if (!(isF32(out) || isBf16(out) || isQuantized(out)) || sizes.empty() ||
        sizes.back() != Polynomial(split))
      return Constraint{op, 8}.expects()
             << "an out of f32, bf16 or i8 with " << split << " columns, got "
             << out.getType();
    int64_t longest = getMaxKBlock(type);
    if (isBf16(out) && type.getShape()[1] > longest)
      return Constraint{op, 10}.expects()
             << "no outs of bf16 with k above " << longest;
    if (isQuantized(out) && op.getOuts().size() > 1)
      return Constraint{op, 27}.expects()
             << "a single out of i8, got " << op.getOuts().size() << " outs";
    keys |= getBufferType(out).getKeyPanels();
    if (!getBufferType(out).getKeyPanels() &&
        getBufferType(out).getRowCount() !=
            getBufferType(op.getInput()).getRowCount())
      return Constraint{op, 9}.expects()
             << "outs with the rows of the input, got " << text(sizes)
             << " and " << text(getSizes(op.getInput()));
  }
  // Key panels need a ragged batch and a plain epilogue.
  if (keys != bool(op.getRagged()))
    return Constraint{op, 11}.expects()
           << "ragged exactly where an out is key panels";
  if (keys && (op.getActivation() || op.getResidual() || op.getNormGamma()))
    return Constraint{op, 12}.expects()
           << "no activation, residual or norm beside key panels";
  return success();
}

/// Constraints 15 and 18: reads and writes of the norm.
static LogicalResult verifyNormOuts(GemmOp op) {
  Value product = op.getOuts()[0], out = op.getNormOut(),
        rounded = op.getNormCopy();
  if (failed(verifyRowsOfF32({op, 15}, "the out beside a norm", product)))
    return failure();
  if (out &&
      (failed(verifyRowsOfF32({op, 18}, "'norm_out'", out)) ||
       failed(verifySameSizes({op, 18}, "out and 'norm_out'", product, out))))
    return failure();
  if (!rounded)
    return success();
  if (!isRoundedRows(rounded))
    return Constraint{op, 18}.expects()
           << "rows of bf16 or i8 as 'norm_copy', got " << rounded.getType();
  return verifySameSizes({op, 18}, "out and 'norm_copy'", product, rounded);
}

/// Constraints 14 to 19: the norm over the result.
static LogicalResult verifyGemmNorm(GemmOp op) {
  // The norm's operands occur together.
  Value result = op.getNormOut() ? op.getNormOut() : op.getNormCopy();
  int given = bool(op.getNormGamma()) + bool(result) +
              bool(op.getNormCounters()) + bool(op.getNormEps());
  if (op.getNormRms() && op.getNormBeta())
    return Constraint{op, 17}.expects() << "an 'rms_norm' without beta";
  if (given == 0)
    return op.getNormBeta()
               ? Constraint{op, 14}.expects() << "no beta without a norm"
               : success();
  if (given != 4)
    return Constraint{op, 14}.expects()
           << "'norm_gamma', 'norm_out' or "
              "'norm_copy', 'norm_counters' and a norm in the "
              "epilogue together";
  // Check the out, gamma, beta and the results.
  if (op.getOuts().size() != 1)
    return Constraint{op, 15}.expects()
           << "a single out beside a norm, got " << op.getOuts().size();
  int64_t width = op.getWeight().getType().getShape()[0];
  if (failed(verifyVector({op, 16}, "gamma", op.getNormGamma(), width,
                          WeightLayout::Rows)) ||
      (op.getNormBeta() &&
       failed(verifyVector({op, 16}, "beta", op.getNormBeta(), width,
                           WeightLayout::Rows))) ||
      failed(verifyNormOuts(op)))
    return failure();
  // Check the counters.
  Value counters = op.getNormCounters();
  if (!getBufferType(counters).getElementType().isInteger(64) ||
      product(getSizes(counters)) !=
          getBufferType(op.getOuts()[0]).getRowCount())
    return Constraint{op, 19}.expects()
           << "an i64 counter for each row, got " << counters.getType();
  return success();
}

/// Constraint 26.
static LogicalResult verifyOutScales(GemmOp op) {
  Value numbers = op.getNormCopy() ? op.getNormCopy() : op.getOuts()[0];
  return verifyQuantized({op, 26}, numbers, op.getOutScales());
}

/// Constraints 22 and 23.
static LogicalResult verifyGlu(GemmOp op) {
  if (!op.getGlu())
    return success();
  WeightType type = op.getWeight().getType();
  if (op.getResidual() || op.getNormGamma() || op.getRagged() ||
      op.getOuts().size() != 1 || !type.getSplits().empty())
    return Constraint{op, 22}.expects()
           << "a single out in rows and no other epilogue "
              "beside a GLU";
  // A weight may become bf16 until its layout is set.
  int64_t longest = type.getLayout() == WeightLayout::Unset
                        ? getMaxKBlockOfBits(16)
                        : getMaxKBlock(type);
  if (type.getShape()[0] % 16 || type.getShape()[1] > longest)
    return Constraint{op, 23}.expects()
           << "a multiple of 16 rows and k of at most " << longest
           << " beside a GLU, got " << text(getSizes(op.getWeight()));
  return success();
}

/// Constraint 24.
static LogicalResult verifyGemmSummary(GemmOp op) {
  if (op.getSummary().empty())
    return success();
  if (op.getOuts().size() != 1 || op.getNormGamma() || op.getGlu())
    return Constraint{op, 24}.expects()
           << "a single out, no norm and no GLU beside a summary";
  if (failed(verifyRowsOfF32({op, 24}, "the out beside a summary",
                             op.getOuts()[0])))
    return failure();
  for (Value buffer : op.getSummary())
    if (failed(verifyRowsOfF32({op, 24}, "a summary", buffer)))
      return failure();
  return verifySummary({op, 24}, op.getOuts()[0], op.getSummary());
}

/// Constraint 31.
static LogicalResult verifyColumnPanels(GemmOp op) {
  WeightType type = op.getWeight().getType();
  if (!op.getPanels())
    return success();
  if (!op.getColumns() || type.getLayout() == WeightLayout::Unset)
    return Constraint{op, 31}.expects()
           << "'panels' beside columns of a weight with a layout only";
  const int64_t bytes = op.getColumnPanel().bytes;
  Sizes sizes = getSizes(op.getPanels());
  if (!getBufferType(op.getPanels()).getElementType().isInteger(8) ||
      sizes.size() != 2 || sizes[1] != Polynomial(bytes))
    return Constraint{op, 31}.expects()
           << "'panels' of i8 [p, " << bytes << "], got "
           << op.getPanels().getType();
  return success();
}

/// Constraints 9 and 29 to 31.
static LogicalResult verifyColumns(GemmOp op) {
  if (!op.getColumns())
    return verifyColumnPanels(op);
  // Check the indices, and that no other option is used.
  Sizes columns = getSizes(op.getColumns());
  if (!isDense(op.getColumns()) || columns.size() != 1 ||
      !getBufferType(op.getColumns()).getElementType().isInteger(64))
    return Constraint{op, 29}.expects()
           << "columns of dense i64 [c], got " << op.getColumns().getType();
  if (op.getOuts().size() != 1 || op.getEpilogue() || op.getResidual() ||
      op.getRagged() || !op.getSummary().empty() ||
      !op.getWeight().getType().getSplits().empty())
    return Constraint{op, 30}.expects()
           << "a single out and no epilogue, residual, summary or splits "
              "beside columns";
  // Check the out's type and sizes.
  Value out = op.getOuts()[0];
  if (failed(verifyRowsOfF32({op, 30}, "the out beside columns", out)))
    return failure();
  Sizes sizes = getSizes(out);
  if (sizes.empty() || sizes.back() != columns[0])
    return Constraint{op, 29}.expects()
           << "an out with the columns " << text(columns) << ", got "
           << text(sizes);
  if (getBufferType(out).getRowCount() !=
      getBufferType(op.getInput()).getRowCount())
    return Constraint{op, 9}.expects()
           << "outs with the rows of the input, got " << text(sizes) << " and "
           << text(getSizes(op.getInput()));
  return verifyColumnPanels(op);
}

LogicalResult GemmOp::verify() {
  // Check operands, outs and norm.
  if (failed(verifyGemmInput(*this)) || failed(verifyGemmWeights(*this)) ||
      failed(verifyColumns(*this)) || failed(verifyGlu(*this)) ||
      failed(verifyGemmOuts(*this)) || failed(verifyGemmNorm(*this)) ||
      failed(verifyGemmSummary(*this)) || failed(verifyOutScales(*this)))
    return failure();
  // A residual has the sizes of the only out.
  if (getResidual()) {
    if (getOuts().size() != 1)
      return Constraint{*this, 13}.expects()
             << "a single out beside a residual, got " << getOuts().size();
    if (failed(verifyRowsOfF32({*this, 13}, "a residual", getResidual())) ||
        failed(verifySameSizes({*this, 13}, "out and residual", getOuts()[0],
                               getResidual())))
      return failure();
  }
  // Check that results do not overwrite operands.
  for (Value out : {getNormOut(), getNormCopy()})
    if (out && getStorage(out) == getStorage(getInput()))
      return Constraint{*this, 20}.expects()
             << "a norm in other memory than the input";
  for (Value out : getOuts()) {
    if (getStorage(out) == getStorage(getInput()))
      return Constraint{*this, 20}.expects()
             << "outs in other memory than the input";
    int64_t longest = getMaxKBlock(getWeight().getType());
    if (getResidual() && getStorage(out) == getStorage(getResidual()) &&
        (getActivation() || getWeight().getType().getShape()[1] > longest))
      return Constraint{*this, 21}.expects()
             << "a residual in other memory than the out with "
                "an activation or k above "
             << longest;
  }
  return success();
}

LogicalResult BatchMatmulOp::verify() {
  // Check ranks and types.
  for (Value buffer : {getLhs(), getRhs(), getOuts()}) {
    if (failed(verifyRowsOfF32({*this, 1}, "each operand", buffer)))
      return failure();
    if (getBufferType(buffer).getRank() < 2)
      return Constraint{*this, 1}.expects()
             << "operands of rank 2 at least, got " << buffer.getType();
  }
  // Compare m, n and k.
  Sizes lhs = getSizes(getLhs()), rhs = getSizes(getRhs()),
        outs = getSizes(getOuts());
  if (lhs.back() != rhs[rhs.size() - 2])
    return Constraint{*this, 2}.expects() << "operands that share k, got "
                                          << text(lhs) << " and " << text(rhs);
  if (outs.back() != rhs.back() || outs[outs.size() - 2] != lhs[lhs.size() - 2])
    return Constraint{*this, 3}.expects()
           << "outs [.., m, n] of " << text(lhs) << " and " << text(rhs)
           << ", got " << text(outs);
  // Compare the leading sizes.
  for (const Sizes &own : {lhs, rhs}) {
    bool fits = own.size() <= outs.size();
    for (size_t i = 3; fits && i <= own.size(); ++i)
      fits = own[own.size() - i] == Polynomial(1) ||
             own[own.size() - i] == outs[outs.size() - i];
    if (!fits)
      return Constraint{*this, 4}.expects()
             << "leading sizes that broadcast to " << text(outs) << ", got "
             << text(own);
  }
  return success();
}

/// Constraints 1 and 2.
static LogicalResult verifyHeadWeight(HeadGemmOp op) {
  WeightType type = op.getWeight().getType();
  const int64_t heads = op.getHeads();
  if (heads <= 0 || type.getShape().size() != 2 ||
      type.getShape()[0] % heads != 0 || !type.getElementType().isF32())
    return Constraint{op, 1}.expects() << "a weight [heads*n, k] of f32 for "
                                       << heads << " heads, got " << type;
  if (failed(verifyLayout({op, 1}, "the weight", op.getWeight(),
                          WeightLayout::Panels32)))
    return failure();
  SmallVector<int64_t> splits;
  if (type.getLayout() != WeightLayout::Unset)
    splits.assign(heads, op.getHeadColumns());
  if (type.getSplits() != ArrayRef(splits))
    return Constraint{op, 1}.expects()
           << "a split for each head in panels, none before, got " << type;
  if (int64_t longest = getMaxKBlock(type); type.getShape()[1] > longest)
    return Constraint{op, 2}.expects()
           << "a k of at most " << longest << ", got " << type.getShape()[1];
  return success();
}

LogicalResult HeadGemmOp::verify() {
  if (failed(verifyHeadWeight(*this)))
    return failure();
  // Compare the sizes of input and outs.
  ArrayRef<int64_t> shape = getWeight().getType().getShape();
  if (failed(verifyRowsOfF32({*this, 3}, "the input", getInput())) ||
      failed(verifyRowsOfF32({*this, 3}, "outs", getOuts())))
    return failure();
  Sizes input = getSizes(getInput()), outs = getSizes(getOuts());
  const int64_t heads = getHeads(), columns = heads * shape[1];
  if (input.size() != 2 || outs.size() != 2 ||
      outs[0] != Polynomial(heads) * input[0] ||
      input[1] != Polynomial(columns) ||
      outs[1] != Polynomial(getHeadColumns()))
    return Constraint{*this, 3}.expects()
           << "an input [rows, " << columns << "] and outs [" << heads
           << "*rows, " << getHeadColumns() << "], got " << text(input)
           << " and " << text(outs);
  // Check the buckets, and that the input is not overwritten.
  if (!getPositionBuckets().isValid())
    return Constraint{*this, 5}.expects()
           << "an even number of positions and 'max_distance' 0 or from n / 4 "
              "+ 2 to "
           << PositionBuckets::largestDistance << " with n >= 4, got "
           << getHeadColumns() << " and " << int64_t(getMaxDistance());
  if (getStorage(getInput()) == getStorage(getOuts()))
    return Constraint{*this, 4}.expects()
           << "outs in other memory than the input";
  return success();
}
