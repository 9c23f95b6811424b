// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry that returns attention weights. It is a copy of the encoder, or of
// a decoder's step on whole sequences, whose attentions are each repeated with
// unit vectors as values: what comes out are the weights, with every mask and
// bias that the attention has.
#include "passes/Remarks.h"
#include "passes/graph/GraphSupport.h"
#include "passes/graph/Passes.h"
#include "passes/graph/StepToBatch.h"

#define DEBUG_TYPE "attn-add-attention-entry"

using namespace mlir;
using namespace transom::attn;

namespace transom {

#define GEN_PASS_DEF_ADDATTENTIONENTRYPASS
#include "passes/graph/Passes.h.inc"

namespace {

constexpr StringLiteral entryName = "attention";
constexpr StringLiteral batchName = "attention_batch",
                        lengthName = "attention_seq";
/// Sizes of a call at most: weights take batch * heads * length^2 floats.
constexpr int64_t maxBatch = 4, maxLength = 512;

/// The unit vectors of `size` dimensions, `copies` times side by side.
WeightExpr makeUnitVectors(int64_t size, int64_t copies) {
  // Of rows of size + 1 elements that begin with a one, the first size * size
  // elements are the identity matrix.
  auto column = WeightExpr::fill({size, 1}, 1.0);
  auto flat = WeightExpr::reshape(WeightExpr::pad(column, 1, size + 1),
                                  {size * (size + 1)});
  auto matrix = WeightExpr::reshape(WeightExpr::slice(flat, 0, 0, size * size),
                                    {size, size});
  return WeightExpr::concat(
      1, std::vector<WeightExpr>(static_cast<size_t>(copies), matrix));
}

/// Adds the weights of each attention to the results of one function.
class WeightsWriter {
public:
  WeightsWriter(func::FuncOp function, BlockArgument ids, int64_t length)
      : function(function), builder(function.getContext()), ids(ids),
        dims(getDims(ids)), length(length) {}

  void write();

private:
  Value getWeights(SdpaOp op);
  Value getUnitVectors(SdpaOp op);
  Value getColumns(SdpaOp op);
  SizeAttr getSize(const Polynomial &size) {
    return SizeAttr::get(builder.getContext(), size);
  }

  func::FuncOp function;
  OpBuilder builder;
  BlockArgument ids;
  Dims dims;                      // batch and length
  int64_t length;                 // of unit vectors
  DenseMap<Value, Value> columns; // by ragged batch, null without one
};

/// True for an attention of the tokens of the batch among each other.
bool isSelfAttention(SdpaOp op, const Dims &dims) {
  if (op.getCache())
    return false;
  if (op.getRagged())
    return op.getRagged().getDefiningOp<RaggedBatchOp>() != nullptr;
  auto isOfBatch = [&](Value value) {
    Dims own = getDims(value);
    return own.size() == 3 && own[0] == dims[0] && own[1] == dims[1];
  };
  return isOfBatch(op.getQuery()) && isOfBatch(op.getKey());
}

/// The column of each token, which selects its unit vector.
Value WeightsWriter::getColumns(SdpaOp op) {
  Value &found = columns[op.getRagged()];
  if (found)
    return found;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.front());
  Value source = ids;
  Type i64 = builder.getI64Type();
  if (Value ragged = op.getRagged())
    builder.setInsertionPointAfter(ragged.getDefiningOp());
  if (getElementTypeOrSelf(source) != i64)
    source = createInferred<CastOp>(builder, op.getLoc(), source,
                                    TypeAttr::get(i64));
  if (Value ragged = op.getRagged())
    source = createInferred<GatherRowsOp>(builder, op.getLoc(), source, ragged);
  auto kind = PositionKindAttr::get(builder.getContext(), PositionKind::Column);
  return found = createInferred<PositionOp>(builder, op.getLoc(), source,
                                            op.getRagged(), kind,
                                            builder.getI64IntegerAttr(0));
}

/// A value for each token and key head: the unit vector of its column.
Value WeightsWriter::getUnitVectors(SdpaOp op) {
  auto heads = static_cast<int64_t>(op.getKvHeads());
  std::string name = "unit_vectors_of_" + std::to_string(heads) + "_heads";
  auto module = function->getParentOfType<ModuleOp>();
  auto type = RankedTensorType::get({length, heads * length},
                                    getElementTypeOrSelf(op.getQuery()));
  if (!module.lookupSymbol(name)) {
    OpBuilder atModule(module.getBody(), module.getBody()->begin());
    atModule.create<WeightOp>(op.getLoc(), name, type,
                              makeUnitVectors(length, heads));
  }
  Value table = builder.create<GetWeightOp>(
      op.getLoc(), type, FlatSymbolRefAttr::get(builder.getContext(), name));
  return createInferred<EmbeddingOp>(builder, op.getLoc(), getColumns(op),
                                     table, builder.getF64FloatAttr(1.0));
}

/// The weights [batch, heads, length, length] of an attention.
Value WeightsWriter::getWeights(SdpaOp op) {
  Location loc = op.getLoc();
  builder.setInsertionPointAfter(op);
  Value weights = createInferred<SdpaOp>(
      builder, loc, op.getQuery(), op.getKey(), getUnitVectors(op),
      op.getMask(), op.getRagged(), Value(), op.getSlopes(),
      op.getRelativeBias(), op.getHeadsAttr(), op.getKvHeadsAttr(),
      op.getScaleAttr(), op.getMaskKindAttr(), op.getCausalAttr(),
      op.getWindowAttr(), op.getSoftCapAttr(), op.getMaskValueAttr());
  if (Value ragged = op.getRagged())
    weights = createInferred<ScatterRowsOp>(builder, loc, weights, ragged,
                                            getSize(dims[0]), getSize(dims[1]));
  auto heads = static_cast<int64_t>(op.getHeads());
  weights =
      createReshape(builder, loc, weights, {dims[0], dims[1], heads, length});
  weights = createInferred<SliceOp>(
      builder, loc, weights, builder.getI64IntegerAttr(3),
      builder.getI64IntegerAttr(0), getSize(dims[1]));
  return createInferred<TransposeOp>(
      builder, loc, weights, builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
}

void WeightsWriter::write() {
  // Collect first: the new attentions are not to be repeated.
  SmallVector<SdpaOp> attentions;
  for (auto op : function.getOps<SdpaOp>())
    if (isSelfAttention(op, dims))
      attentions.push_back(op);
  SmallVector<Value> weights;
  for (SdpaOp op : attentions)
    weights.push_back(getWeights(op));

  // Return them after the other results.
  Operation *terminator = function.front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), weights);
  const unsigned before = function.getNumResults();
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           terminator->getOperandTypes()));
  for (auto [index, value] : llvm::enumerate(weights))
    function.setResultAttr(
        before + index, "attn.name",
        builder.getStringAttr("attentions." + std::to_string(index)));
}

/// The first argument [batch, length] of token ids, null without one.
BlockArgument findIds(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      "attn.role");
    if (role && role == "ids" && getDims(argument).size() == 2)
      return argument;
  }
  return BlockArgument();
}

class AddAttentionEntryPass
    : public impl::AddAttentionEntryPassBase<AddAttentionEntryPass> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr("transom.attention") || module.lookupSymbol(entryName))
      return;
    Remarks remarks(module, DEBUG_TYPE);
    for (func::FuncOp entry : getEntries(module))
      if (addEncoder(entry) || addDecoder(entry)) {
        ++added;
        remarks.passed(entry.getLoc(),
                       "entry 'attention' has what '" + entry.getName() +
                           "' has, and the weights of its attentions");
        return;
      }
  }

private:
  bool addEncoder(func::FuncOp entry);
  bool addDecoder(func::FuncOp entry);
  func::FuncOp copyEntry(func::FuncOp entry);
  int64_t getLargest(const std::string &symbol);
  int64_t declareSymbols(int64_t length);
};

/// The largest value of a symbol, 0 where it has no limit.
int64_t AddAttentionEntryPass::getLargest(const std::string &symbol) {
  auto declared = getOperation()->getAttrOfType<DictionaryAttr>("attn.symbols");
  auto limits =
      declared ? declared.getAs<DictionaryAttr>(symbol) : DictionaryAttr();
  auto max = limits ? limits.getAs<IntegerAttr>("max") : IntegerAttr();
  return max ? max.getInt() : 0;
}

/// Declares the new symbols with their largest values; returns that of the
/// length, which is not above `length` if this is positive.
int64_t AddAttentionEntryPass::declareSymbols(int64_t length) {
  Builder b(&getContext());
  NamedAttrList symbols(
      getOperation()->getAttrOfType<DictionaryAttr>("attn.symbols"));
  const int64_t largest = length > 0 ? std::min(maxLength, length) : maxLength;
  auto add = [&](StringRef name, int64_t max) {
    symbols.set(name, b.getDictionaryAttr(
                          b.getNamedAttr("max", b.getI64IntegerAttr(max))));
  };
  add(batchName, maxBatch);
  add(lengthName, largest);
  getOperation()->setAttr("attn.symbols", symbols.getDictionary(&getContext()));
  return largest;
}

/// True for a size that is one symbol.
bool isSymbol(const Polynomial &size) {
  return size.symbols().size() == 1 &&
         size == Polynomial::symbol(size.symbols().front());
}

func::FuncOp AddAttentionEntryPass::copyEntry(func::FuncOp entry) {
  OpBuilder builder(entry);
  builder.setInsertionPointAfter(entry);
  auto copy = cast<func::FuncOp>(builder.clone(*entry));
  copy.setSymName(entryName);
  copy->setAttr("transom.kind", builder.getStringAttr("run"));
  return copy;
}

/// A copy of an encoder; its batch and length have to be symbols.
bool AddAttentionEntryPass::addEncoder(func::FuncOp entry) {
  BlockArgument ids = findIds(entry);
  if (!ids)
    return false;
  Dims dims = getDims(ids);
  if (!isSymbol(dims[0]) || !isSymbol(dims[1]) || dims[0] == dims[1] ||
      llvm::none_of(entry.getOps<SdpaOp>(),
                    [&](SdpaOp op) { return isSelfAttention(op, dims); }))
    return false;
  const int64_t largest = declareSymbols(getLargest(dims[1].str()));
  func::FuncOp copy = copyEntry(entry);
  replaceSymbols(copy, {{dims[0].str(), Polynomial::symbol(batchName.str())},
                        {dims[1].str(), Polynomial::symbol(lengthName.str())}});
  WeightsWriter(copy, copy.getArgument(ids.getArgNumber()), largest).write();
  return true;
}

/// A copy of a decoder's step, on whole sequences without padding.
bool AddAttentionEntryPass::addDecoder(func::FuncOp entry) {
  if (!isPlainStep(entry) || entry.getOps<SdpaOp>().empty())
    return false;
  auto context = entry->getAttrOfType<IntegerAttr>("transom.context");
  const int64_t largest = declareSymbols(context ? context.getInt() : 0);
  const Polynomial batch = Polynomial::symbol(batchName.str()),
                   length = Polynomial::symbol(lengthName.str());
  Dims tokens = getDims(entry.getArgument(0)),
       results = getDims(entry.getArgument(1));
  func::FuncOp copy = copyEntry(entry);
  replaceSymbols(copy, {{tokens[0].str(), batch * length},
                        {results[0].str(), batch * length}});
  makeBatchOfStep(copy, batch, length);
  WeightsWriter(copy, copy.getArgument(0), largest).write();
  return true;
}

} // namespace
} // namespace transom
