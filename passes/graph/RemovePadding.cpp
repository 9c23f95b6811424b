// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RowForms determines the values that can be computed on ragged rows. If all
// results can, each operation that they depend on is repeated on rows, the
// results are scattered back from rows, and unused operations are erased.
// Otherwise the function remains unchanged.
#include "mlir/IR/IRMapping.h"
#include "passes/Remarks.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RowForms.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "attn-remove-padding"

using namespace mlir;
using namespace transom::attn;

namespace transom {

#define GEN_PASS_DEF_REMOVEPADDINGPASS
#include "passes/graph/Passes.h.inc"

namespace {

/// Repeats the operations in one function on ragged rows.
class RowWriter {
public:
  RowWriter(func::FuncOp function, BlockArgument mask, const RowForms &forms)
      : block(function.getBody().front()), mask(mask), forms(forms),
        builder(function.getContext()) {}

  /// Creates the ragged batch and all values on rows, and returns scattered
  /// rows.
  void write(StringRef rowsName, StringRef keysName);

private:
  void convert(Operation *op);
  void convertSdpa(SdpaOp op);
  void convertPool(PoolOp op);
  void convertNeighbors(NeighborsOp op);
  void convertPosition(PositionOp op);
  void convertFirstColumn(SliceOp op);
  void convertByRow(Operation *op);
  Value getOperandOnRows(Operation *op, Value operand);
  Value getRows(Value value, Location loc);
  Value positions(Location loc);
  void convertReturn(Operation *op);

  Block &block;
  BlockArgument mask;
  const RowForms &forms;
  OpBuilder builder;
  Value ragged;
  DenseMap<Value, Value> onRows; // value with padding → value on rows
  Value columns;                 // each row's position, for tables
};

/// The location for operations that concern the whole entry.
Location getEntryLocation(Block &block) {
  Location loc = block.getParentOp()->getLoc();
  if (hasModulePath(loc) || block.empty())
    return loc;
  return block.front().getLoc();
}

void RowWriter::write(StringRef rowsName, StringRef keysName) {
  MLIRContext *context = builder.getContext();
  auto ops = llvm::map_to_vector(block, [](Operation &op) { return &op; });
  Location loc = getEntryLocation(block);
  builder.setInsertionPointToStart(&block);
  auto type = RaggedType::get(context, StringAttr::get(context, rowsName),
                              StringAttr::get(context, keysName));
  ragged = builder.create<RaggedBatchOp>(loc, type, mask, forms.keepFirst());
  for (Operation *op : ops)
    convert(op);
  eraseDeadOps(block);
}

/// Each row's position, created once at the top of the block for all tables.
Value RowWriter::positions(Location loc) {
  if (columns)
    return columns;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(ragged.getDefiningOp());
  Value ids = mask;
  Type i64 = builder.getI64Type();
  if (getElementTypeOrSelf(ids) != i64)
    ids = createInferred<CastOp>(builder, loc, ids, TypeAttr::get(i64));
  ids = createInferred<GatherRowsOp>(builder, loc, ids, ragged);
  auto kind = PositionKindAttr::get(builder.getContext(), PositionKind::Column);
  columns = createInferred<PositionOp>(builder, loc, ids, ragged, kind,
                                       builder.getI64IntegerAttr(0));
  return columns;
}

Value RowWriter::getRows(Value value, Location loc) {
  Value &found = onRows[value];
  if (found)
    return found;
  if (forms.of(value) == RowForm::Table) {
    // Insert at the current operation: the table's weight is defined before its
    // slice, but possibly after the first use of rows.
    Value made = createInferred<EmbeddingOp>(builder, loc, positions(loc),
                                             forms.getTable(value),
                                             builder.getF64FloatAttr(1.0));
    return onRows[value] = made;
  }
  OpBuilder::InsertionGuard guard(builder);
  if (isa<BlockArgument>(value))
    builder.setInsertionPointAfter(ragged.getDefiningOp());
  return onRows[value] =
             createInferred<GatherRowsOp>(builder, loc, value, ragged);
}

void RowWriter::convert(Operation *op) {
  builder.setInsertionPoint(op);
  if (op->hasTrait<OpTrait::IsTerminator>())
    return convertReturn(op);
  bool reads = llvm::any_of(op->getOperands(), [&](Value operand) {
    return forms.of(operand) == RowForm::Rows;
  });
  RowForm form = forms.of(op->getResult(0));
  if (!reads || form == RowForm::Opaque || form == RowForm::Table)
    return;
  TypeSwitch<Operation *>(op)
      .Case([&](SdpaOp sdpa) { convertSdpa(sdpa); })
      .Case([&](PoolOp pool) { convertPool(pool); })
      .Case([&](NeighborsOp neighbors) { convertNeighbors(neighbors); })
      .Case([&](PositionOp position) { convertPosition(position); })
      .Case([&](SliceOp slice) {
        if (form == RowForm::Fixed)
          return convertFirstColumn(slice);
        convertByRow(slice);
      })
      .Default([&](Operation *other) { convertByRow(other); });
}

void RowWriter::convertSdpa(SdpaOp op) {
  auto rows = [&](Value value) { return getRows(value, op.getLoc()); };
  auto kind = MaskKindAttr::get(builder.getContext(), MaskKind::Ragged);
  Value query = rows(op.getQuery()), key = rows(op.getKey());
  auto sdpa = createInferred<SdpaOp>(
      builder, op.getLoc(), query, key, rows(op.getValue()), Value(), ragged,
      Value(), op.getSlopes(), op.getRelativeBias(), op.getPositionKeys(),
      op.getPositionQueries(), op.getHeadsAttr(), op.getKvHeadsAttr(),
      op.getScaleAttr(), kind, op.getCausalAttr(), op.getWindowAttr(),
      op.getSoftCapAttr(), FloatAttr(), op.getMaxDistanceAttr());
  onRows[op.getResult()] = sdpa.getResult();
}

void RowWriter::convertPool(PoolOp op) {
  Polynomial batch = getDims(op.getInput())[0];
  Value keys = forms.getMaskOnRows(op);
  auto pool = createInferred<PoolOp>(
      builder, op.getLoc(), getRows(op.getInput(), op.getLoc()),
      keys ? getRows(keys, op.getLoc()) : Value(), ragged, op.getKindAttr(),
      SizeAttr::get(builder.getContext(), batch));
  op.getResult().replaceAllUsesWith(pool.getResult());
}

void RowWriter::convertNeighbors(NeighborsOp op) {
  auto neighbors = createInferred<NeighborsOp>(
      builder, op.getLoc(), getRows(op.getInput(), op.getLoc()), Value(),
      ragged, op.getReachAttr());
  onRows[op.getResult()] = neighbors.getResult();
}

/// A `nonpad_rank` counts ids in the padded tensor, as the model does: an id
/// that the mask hides counts if it differs from the padding id.
void RowWriter::convertPosition(PositionOp op) {
  if (op.getKind() == PositionKind::NonpadRank) {
    builder.setInsertionPointAfter(op);
    onRows[op.getResult()] = createInferred<GatherRowsOp>(
        builder, op.getLoc(), op.getResult(), ragged);
    return;
  }
  onRows[op.getResult()] = createInferred<PositionOp>(
      builder, op.getLoc(), getRows(op.getIds(), op.getLoc()), ragged,
      op.getKindAttr(), op.getPadAttr());
}

/// `x[:, 0:1]` is the first row in each sequence.
void RowWriter::convertFirstColumn(SliceOp op) {
  auto kind = PoolKindAttr::get(builder.getContext(), PoolKind::First);
  Dims dims = getDims(op.getResult());
  Value first = createInferred<PoolOp>(
      builder, op.getLoc(), getRows(op.getInput(), op.getLoc()), Value(),
      ragged, kind, SizeAttr::get(builder.getContext(), dims[0]));
  op.getResult().replaceAllUsesWith(
      createReshape(builder, op.getLoc(), first, dims));
}

/// An operand for the operation on rows. A fixed operand of an elementwise
/// operation loses one of its size-1 dimensions for batch and length.
Value RowWriter::getOperandOnRows(Operation *op, Value operand) {
  RowForm form = forms.of(operand);
  if (form == RowForm::Rows || form == RowForm::Table)
    return getRows(operand, op->getLoc());
  Dims dims = getDims(operand), result = getDims(op->getResult(0));
  auto tokenwise = dyn_cast<TokenwiseOpInterface>(op);
  if (!tokenwise || !tokenwise.isElementwise() || dims.size() < result.size())
    return operand;
  return createReshape(builder, op->getLoc(), operand,
                       ArrayRef(dims).drop_front());
}

void RowWriter::convertByRow(Operation *op) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, getOperandOnRows(op, operand));
  Operation *copy = builder.clone(*op, mapping);
  if (auto rowwise = dyn_cast<RowwiseOpInterface>(copy))
    rowwise.adaptToRows();
  (void)setInferredTypes(copy);
  onRows[op->getResult(0)] = copy->getResult(0);
}

void RowWriter::convertReturn(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (forms.of(operand.get()) != RowForm::Rows)
      continue;
    Location loc = operand.get().getLoc();
    Value value = forms.maskedResult(operand.get());
    Dims dims = getDims(value);
    operand.set(createInferred<ScatterRowsOp>(
        builder, loc, getRows(value, loc), ragged,
        SizeAttr::get(builder.getContext(), dims[0]),
        SizeAttr::get(builder.getContext(), dims[1])));
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

SmallVector<BlockArgument> getMasks(func::FuncOp function) {
  SmallVector<BlockArgument> masks;
  for (BlockArgument argument : function.getArguments()) {
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      "attn.role");
    if (role && role == "mask" && getDims(argument).size() == 2 &&
        isa<IntegerType>(getElementTypeOrSelf(argument)))
      masks.push_back(argument);
  }
  return masks;
}

/// An argument that hides keys like a padding mask, and the number of
/// attentions in which it does.
struct UnmarkedMask {
  BlockArgument argument;
  int64_t attentions = 0;
};

/// Collects a value and all values that it depends on.
void collectSources(Value value, llvm::SetVector<Value> &seen) {
  if (!seen.insert(value))
    return;
  if (Operation *op = value.getDefiningOp())
    for (Value operand : op->getOperands())
      collectSources(operand, seen);
}

/// The first rank-2 argument, other than token ids, that attention masks depend
/// on.
std::optional<UnmarkedMask> findUnmarkedMask(func::FuncOp entry) {
  llvm::MapVector<Value, int64_t> counts;
  entry.walk([&](SdpaOp attention) {
    llvm::SetVector<Value> seen;
    if (attention.getMask())
      collectSources(attention.getMask(), seen);
    for (Value value : seen)
      if (isa<BlockArgument>(value))
        ++counts[value];
  });
  for (auto [value, count] : counts) {
    auto argument = cast<BlockArgument>(value);
    const bool areIds = llvm::any_of(argument.getUsers(), [](Operation *user) {
      return isa<EmbeddingOp>(user);
    });
    if (!areIds && getDims(argument).size() == 2)
      return UnmarkedMask{argument, count};
  }
  return std::nullopt;
}

class RemovePaddingPass
    : public impl::RemovePaddingPassBase<RemovePaddingPass> {
public:
  void runOnOperation() override {
    Remarks remarks(getOperation());
    for (func::FuncOp entry : getEntries(getOperation()))
      runOnEntry(entry, remarks);
  }

private:
  void runOnEntry(func::FuncOp entry, Remarks &remarks);
  void reportNoMask(func::FuncOp entry, Remarks &remarks);
  std::optional<RowBlame> makeRagged(func::FuncOp entry,
                                     ArrayRef<BlockArgument> masks);
  std::string freshSymbol(StringRef base);
};

/// A symbol that the module does not declare.
std::string RemovePaddingPass::freshSymbol(StringRef base) {
  auto declared = getOperation()->getAttrOfType<DictionaryAttr>("attn.symbols");
  std::string name = base.str();
  for (int i = 1; declared && declared.contains(name); ++i)
    name = base.str() + std::to_string(i);
  return name;
}

/// Rewrites the entry for the first suitable padding mask; otherwise returns
/// the reason why padding remains.
std::optional<RowBlame>
RemovePaddingPass::makeRagged(func::FuncOp entry,
                              ArrayRef<BlockArgument> masks) {
  std::optional<RowBlame> blame;
  for (BlockArgument mask : masks) {
    RowForms forms(entry, mask);
    blame = forms.obstacle();
    if (!blame && !forms.hasRows())
      blame = RowBlame{entry, RemarkReason(RemarkId::NothingWorksOnRows)};
    if (blame)
      continue;
    RowWriter(entry, mask, forms)
        .write(freshSymbol("rows"), freshSymbol("keys"));
    return std::nullopt;
  }
  if (masks.size() > 1)
    return RowBlame{
        entry, RemarkReason(RemarkId::SeveralMasks, {{"masks", masks.size()}})};
  return blame;
}

void RemovePaddingPass::reportNoMask(func::FuncOp entry, Remarks &remarks) {
  std::optional<UnmarkedMask> mask = findUnmarkedMask(entry);
  if (!mask) {
    remarks.report(entry,
                   {RemarkId::EntryHasNoMask, {{"entry", entry.getName()}}});
    return;
  }
  const unsigned number = mask->argument.getArgNumber();
  auto name = entry.getArgAttrOfType<StringAttr>(number, "attn.name");
  remarks.report(
      mask->argument.getLoc(), entry,
      {RemarkId::MaskIsNotMarked,
       {{"entry", entry.getName()},
        {"argument", name ? name.getValue().str() : std::to_string(number)},
        {"sizes", getDims(mask->argument)},
        {"attentions", mask->attentions}}});
}

void RemovePaddingPass::runOnEntry(func::FuncOp entry, Remarks &remarks) {
  SmallVector<BlockArgument> masks = getMasks(entry);
  if (!entry.getOps<RaggedBatchOp>().empty() ||
      !entry.getOps<DecodeBatchOp>().empty())
    return; // works on rows already
  if (masks.empty()) {
    reportNoMask(entry, remarks);
    return;
  }
  // Rewrite, and report the sizes.
  std::optional<RowBlame> blame = makeRagged(entry, masks);
  if (!blame) {
    ++ragged;
    auto batch = *entry.getOps<RaggedBatchOp>().begin();
    Dims sizes = getDims(batch.getMask());
    Polynomial padded = sizes[0] * sizes[1];
    remarks.report(entry,
                   {RemarkId::EntryMadeRagged,
                    {{"entry", entry.getName()},
                     {"rows", batch.getResult().getType().getRows().getValue()},
                     {"padded", padded}}});
    return;
  }
  // Report the reason why padding remains.
  ++withPadding;
  RemarkReason reason = *blame->reason;
  reason.args.emplace_back("entry", entry.getName());
  if (blame->op != entry)
    reason.args.emplace_back("operation", blame->op);
  remarks.report(blame->op, reason);
}

} // namespace
} // namespace transom
