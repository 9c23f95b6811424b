// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds the entry that returns attention weights. It is a copy of the encoder,
// of a decoder step on whole sequences, or of both. Each attention is repeated
// with unit vectors as values, so its result is the attention weights,
// including every mask and bias.
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
                        lengthName = "attention_seq",
                        targetName = "attention_target";
/// Maximum sizes in a call: weights take batch * heads * length^2 floats.
constexpr int64_t maxBatch = 4, maxLength = 512;

/// The `size`-dimensional unit vectors, repeated `copies` times side by side.
WeightExpr makeUnitVectors(int64_t size, int64_t copies) {
  // In rows with size + 1 elements that begin with a one, the first size * size
  // elements are the identity matrix.
  auto column = WeightExpr::fill({size, 1}, 1.0);
  auto flat = WeightExpr::reshape(WeightExpr::pad(column, 1, size + 1),
                                  {size * (size + 1)});
  auto matrix = WeightExpr::reshape(WeightExpr::slice(flat, 0, 0, size * size),
                                    {size, size});
  return WeightExpr::concat(
      1, std::vector<WeightExpr>(static_cast<size_t>(copies), matrix));
}

/// Adds attention weights to one function's results. Its tokens come from one
/// argument, or from a source and a target argument.
class WeightsWriter {
public:
  WeightsWriter(func::FuncOp function, ArrayRef<BlockArgument> ids,
                int64_t length)
      : function(function), builder(function.getContext()), ids(ids),
        length(length), chosenLayers(getChosen("transom.attention_layers")),
        chosenHeads(getChosen("transom.attention_heads")) {}

  void write();

private:
  /// An attention from one argument's tokens to one argument's tokens.
  struct Attention {
    SdpaOp op;
    BlockArgument queries, keys;
    unsigned layer = 0; ///< index among attentions with the same result name
  };

  void collect();
  void choose();
  SmallVector<int64_t> getChosen(StringRef attribute) const;
  SmallVector<int64_t> getChosenHeads(const Attention &attention) const;
  StringRef getName(const Attention &attention) const;
  BlockArgument findIds(Value tokens) const;
  Value getWeights(const Attention &attention);
  Value getUnitVectors(const Attention &attention);
  Value getColumns(const Attention &attention);
  SizeAttr getSize(const Polynomial &size) {
    return SizeAttr::get(builder.getContext(), size);
  }

  func::FuncOp function;
  OpBuilder builder;
  SmallVector<BlockArgument> ids;
  int64_t length;                                 // number of unit vectors
  SmallVector<int64_t> chosenLayers, chosenHeads; // empty: all
  SmallVector<Attention> attentions;
  DenseMap<std::pair<Value, Value>, Value> columns; // by keys and ragged batch
};

/// True for sizes [batch, length, ...] that begin with the sizes of the ids.
bool isOfBatch(Value value, BlockArgument ids) {
  Dims own = getDims(value), dims = getDims(ids);
  return own.size() >= 2 && own[0] == dims[0] && own[1] == dims[1];
}

/// The [batch, length, ...] value for query or key tokens; null with a past.
Value getTokens(SdpaOp op, Value tokens) {
  if (getDims(tokens).size() == 3)
    return tokens;
  auto ragged = op.getRagged().getDefiningOp<RaggedBatchOp>();
  return ragged ? ragged.getMask() : Value();
}

/// The ids that match `tokens` [batch, length, ...], or null.
BlockArgument WeightsWriter::findIds(Value tokens) const {
  auto *found = llvm::find_if(
      ids, [&](BlockArgument argument) { return isOfBatch(tokens, argument); });
  return found == ids.end() ? BlockArgument() : *found;
}

/// Finds self-attentions, and attentions from a target to its source: first in
/// encoders, then in decoders, then between both.
void WeightsWriter::collect() {
  Remarks remarks(function->getParentOfType<ModuleOp>());
  for (auto op : function.getOps<SdpaOp>()) {
    Value queries = getTokens(op, op.getQuery()),
          keys = getTokens(op, op.getKey());
    Attention attention{op, queries ? findIds(queries) : BlockArgument(),
                        keys ? findIds(keys) : BlockArgument()};
    if (attention.queries && attention.keys)
      attentions.push_back(attention);
    else
      remarks.report(op, {RemarkId::AttentionWeightsLeftOut,
                          {{"attention", op.getOperation()},
                           {"query", op.getQuery()},
                           {"key", op.getKey()}}});
  }
  llvm::stable_sort(attentions, [&](const Attention &a, const Attention &b) {
    auto rank = [&](const Attention &attention) {
      return 2 * int(attention.queries != attention.keys) +
             int(attention.queries != ids.front());
    };
    return rank(a) < rank(b);
  });
}

/// The integers in a module attribute.
SmallVector<int64_t> WeightsWriter::getChosen(StringRef attribute) const {
  auto module = func::FuncOp(function)->getParentOfType<ModuleOp>();
  auto list = module->getAttrOfType<DenseI64ArrayAttr>(attribute);
  return list ? SmallVector<int64_t>(list.asArrayRef())
              : SmallVector<int64_t>();
}

/// The chosen heads that exist in the attention.
SmallVector<int64_t>
WeightsWriter::getChosenHeads(const Attention &attention) const {
  auto count = static_cast<int64_t>(SdpaOp(attention.op).getHeads());
  SmallVector<int64_t> chosen;
  for (int64_t head = 0; head < count; ++head)
    if (chosenHeads.empty() || llvm::is_contained(chosenHeads, head))
      chosen.push_back(head);
  return chosen;
}

/// Numbers attentions with the same result name, and drops attentions whose
/// layer or heads are not chosen.
void WeightsWriter::choose() {
  llvm::StringMap<unsigned> counts;
  for (Attention &attention : attentions)
    attention.layer = counts[getName(attention)]++;
  llvm::erase_if(attentions, [&](const Attention &attention) {
    return getChosenHeads(attention).empty() ||
           (!chosenLayers.empty() &&
            !llvm::is_contained(chosenLayers, attention.layer));
  });
}

/// The result name before the number.
StringRef WeightsWriter::getName(const Attention &attention) const {
  if (ids.size() == 1)
    return "attentions";
  if (attention.queries != attention.keys)
    return "cross_attentions";
  return attention.queries == ids.front() ? "encoder_attentions"
                                          : "decoder_attentions";
}

/// The column of each key, which selects its unit vector.
Value WeightsWriter::getColumns(const Attention &attention) {
  SdpaOp op = attention.op;
  Value ragged = op.getRagged();
  Value &found = columns[{attention.keys, ragged}];
  if (found)
    return found;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.front());
  Location loc = op.getLoc();
  Value source = attention.keys;
  Type i64 = builder.getI64Type();
  if (ragged)
    builder.setInsertionPointAfter(ragged.getDefiningOp());
  if (getElementTypeOrSelf(source) != i64)
    source = createInferred<CastOp>(builder, loc, source, TypeAttr::get(i64));
  if (ragged)
    source = createInferred<GatherRowsOp>(builder, loc, source, ragged);
  auto kind = PositionKindAttr::get(builder.getContext(), PositionKind::Column);
  return found = createInferred<PositionOp>(builder, loc, source, ragged, kind,
                                            builder.getI64IntegerAttr(0));
}

/// The values: for each key and key head, the unit vector for the key's column.
Value WeightsWriter::getUnitVectors(const Attention &attention) {
  SdpaOp op = attention.op;
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
  return createInferred<EmbeddingOp>(builder, op.getLoc(),
                                     getColumns(attention), table,
                                     builder.getF64FloatAttr(1.0));
}

/// The attention weights [batch, heads, queries, keys].
Value WeightsWriter::getWeights(const Attention &attention) {
  SdpaOp op = attention.op;
  Location loc = op.getLoc();
  builder.setInsertionPointAfter(op);
  // Repeat the attention with unit vectors as values.
  Value weights = createInferred<SdpaOp>(
      builder, loc, op.getQuery(), op.getKey(), getUnitVectors(attention),
      op.getMask(), op.getRagged(), Value(), op.getSlopes(),
      op.getRelativeBias(), op.getPositionKeys(), op.getPositionQueries(),
      op.getHeadsAttr(), op.getKvHeadsAttr(), op.getScaleAttr(),
      op.getMaskKindAttr(), op.getCausalAttr(), op.getWindowAttr(),
      op.getSoftCapAttr(), op.getMaskValueAttr(), op.getMaxDistanceAttr());
  // Restore padding; the axis order is [batch, heads, queries, keys].
  const Dims queries = getDims(attention.queries);
  if (getDims(op.getQuery()).size() == 2)
    weights =
        createInferred<ScatterRowsOp>(builder, loc, weights, op.getRagged(),
                                      getSize(queries[0]), getSize(queries[1]));
  auto heads = static_cast<int64_t>(op.getHeads());
  weights = createReshape(builder, loc, weights,
                          {queries[0], queries[1], heads, length});
  weights = createInferred<SliceOp>(
      builder, loc, weights, builder.getI64IntegerAttr(3),
      builder.getI64IntegerAttr(0), getSize(getDims(attention.keys)[1]));
  weights = createInferred<TransposeOp>(
      builder, loc, weights, builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
  // Keep the chosen heads.
  SmallVector<int64_t> chosen = getChosenHeads(attention);
  if (static_cast<int64_t>(chosen.size()) == heads)
    return weights;
  SmallVector<Value> slices;
  for (int64_t head : chosen)
    slices.push_back(createInferred<SliceOp>(
        builder, loc, weights, builder.getI64IntegerAttr(1),
        builder.getI64IntegerAttr(head), getSize(Polynomial(1))));
  if (slices.size() == 1)
    return slices.front();
  return createInferred<ConcatOp>(builder, loc, ValueRange(slices),
                                  builder.getI64IntegerAttr(1));
}

void WeightsWriter::write() {
  // Collect first, because the new attentions must not be repeated.
  collect();
  choose();
  SmallVector<Value> weights;
  for (const Attention &attention : attentions)
    weights.push_back(getWeights(attention));

  // Return them after the other results, numbered by name.
  Operation *terminator = function.front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), weights);
  const unsigned before = function.getNumResults();
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           terminator->getOperandTypes()));
  for (auto [index, attention] : llvm::enumerate(attentions))
    function.setResultAttr(
        before + index, "attn.name",
        builder.getStringAttr(getName(attention) + "." +
                              std::to_string(attention.layer)));
}

/// Gives a function its own weights, so that later passes treat the other
/// entries' weights as if this function did not exist. Weights that are equal
/// in the end are stored once.
void copyWeights(func::FuncOp function) {
  SymbolTable symbols(function->getParentOfType<ModuleOp>());
  llvm::StringMap<StringAttr> copies;
  for (auto get : function.getOps<GetWeightOp>()) {
    StringAttr &name = copies[get.getWeight()];
    if (!name) {
      Operation *weight = symbols.lookup(get.getWeight());
      auto copy = cast<WeightOp>(weight->clone());
      copy.setSymName((entryName + "." + get.getWeight()).str());
      name = symbols.insert(copy, std::next(weight->getIterator()));
    }
    get.setWeightAttr(FlatSymbolRefAttr::get(name));
  }
}

/// True for an attention in which the tokens of `ids` attend to each other.
bool isSelfAttention(SdpaOp op, BlockArgument ids) {
  Value queries = getTokens(op, op.getQuery()),
        keys = getTokens(op, op.getKey());
  return queries && keys && isOfBatch(queries, ids) && isOfBatch(keys, ids);
}

/// The reason why an entry gets no copy with attention weights.
RemarkReason getObstacle(func::FuncOp entry) {
  RemarkArgument name("entry", entry.getName());
  auto attentions = entry.getOps<SdpaOp>();
  const auto count = llvm::range_size(attentions);
  if (entry.getOps<DecodeBatchOp>().empty()) {
    std::vector<std::string> arguments;
    for (BlockArgument argument : entry.getArguments())
      arguments.push_back(getRemarkText(Value(argument)) + " " +
                          getRemarkText(getDims(argument)));
    if (!findSymbolicIds(entry))
      return {RemarkId::AttentionEntryWithoutIds,
              {name, {"arguments", listTexts(std::move(arguments))}}};
    return {RemarkId::AttentionEntryWithoutAttention,
            {name, {"attentions", count}}};
  }
  if (!entry.getOps<CrossSdpaOp>().empty())
    return {RemarkId::AttentionEntryWithoutSource, {name}};
  if (count == 0)
    return {RemarkId::AttentionEntryWithoutAttention,
            {name, {"attentions", count}}};
  return {RemarkId::AttentionEntryOfOtherStep,
          {name,
           {"arguments", entry.getNumArguments()},
           {"readers",
            getReaders((*entry.getOps<DecodeBatchOp>().begin()).getResult())}}};
}

class AddAttentionEntryPass
    : public impl::AddAttentionEntryPassBase<AddAttentionEntryPass> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr("transom.attention") || module.lookupSymbol(entryName))
      return;
    // An encoder-decoder also has an entry that is an encoder.
    using Self = AddAttentionEntryPass;
    for (auto add :
         {&Self::addEncoderDecoder, &Self::addEncoder, &Self::addDecoder})
      for (func::FuncOp entry : getEntries(module))
        if ((this->*add)(entry)) {
          ++added;
          Remarks(module).report(entry, {RemarkId::AttentionEntryAdded,
                                         {{"entry", entry.getName()}}});
          return;
        }
    Remarks remarks(module);
    for (func::FuncOp entry : getEntries(module))
      remarks.report(entry, getObstacle(entry));
  }

private:
  bool addEncoderDecoder(func::FuncOp entry);
  bool addEncoder(func::FuncOp entry);
  bool addDecoder(func::FuncOp entry);
  func::FuncOp copyEntry(func::FuncOp entry, StringRef name);
  func::FuncOp copyEncoder(func::FuncOp entry, BlockArgument ids,
                           StringRef name);
  func::FuncOp copyStep(func::FuncOp entry, StringRef length);
  int64_t getLargest(BlockArgument ids);
  int64_t getTargetLength(func::FuncOp step);
  void declareSymbol(StringRef name, int64_t largest);

  const Polynomial batch = Polynomial::symbol(batchName.str());
};

/// The maximum length for ids in a call of the new entry.
int64_t AddAttentionEntryPass::getLargest(BlockArgument ids) {
  const std::string symbol = getDims(ids)[1].str();
  auto declared = getOperation()->getAttrOfType<DictionaryAttr>("attn.symbols");
  auto limits =
      declared ? declared.getAs<DictionaryAttr>(symbol) : DictionaryAttr();
  auto max = limits ? limits.getAs<IntegerAttr>("max") : IntegerAttr();
  return max && max.getInt() > 0 ? std::min(max.getInt(), maxLength)
                                 : maxLength;
}

/// The same for a step's sequences.
int64_t AddAttentionEntryPass::getTargetLength(func::FuncOp step) {
  auto context = step->getAttrOfType<IntegerAttr>("transom.context");
  return context && context.getInt() > 0 ? std::min(context.getInt(), maxLength)
                                         : maxLength;
}

void AddAttentionEntryPass::declareSymbol(StringRef name, int64_t largest) {
  Builder b(&getContext());
  NamedAttrList symbols(
      getOperation()->getAttrOfType<DictionaryAttr>("attn.symbols"));
  symbols.set(name, b.getDictionaryAttr(
                        b.getNamedAttr("max", b.getI64IntegerAttr(largest))));
  getOperation()->setAttr("attn.symbols", symbols.getDictionary(&getContext()));
}

func::FuncOp AddAttentionEntryPass::copyEntry(func::FuncOp entry,
                                              StringRef name) {
  OpBuilder builder(entry->getBlock(), std::next(entry->getIterator()));
  auto copy = cast<func::FuncOp>(builder.clone(*entry));
  copy.setSymName(name);
  copy->setAttr("transom.kind", builder.getStringAttr("run"));
  return copy;
}

/// Copies an entry; the new entry's sizes replace the sizes of its ids.
func::FuncOp AddAttentionEntryPass::copyEncoder(func::FuncOp entry,
                                                BlockArgument ids,
                                                StringRef name) {
  Dims dims = getDims(ids);
  func::FuncOp copy = copyEntry(entry, name);
  replaceSymbols(copy, {{dims[0].str(), batch},
                        {dims[1].str(), Polynomial::symbol(lengthName.str())}});
  return copy;
}

/// Copies a step with batch * length tokens, all with results.
func::FuncOp AddAttentionEntryPass::copyStep(func::FuncOp entry,
                                             StringRef length) {
  Dims tokens = getDims(entry.getArgument(0)),
       results = getDims(entry.getArgument(1));
  const Polynomial rows = batch * Polynomial::symbol(length.str());
  func::FuncOp copy = copyEntry(entry, entryName);
  replaceSymbols(copy, {{tokens[0].str(), rows}, {results[0].str(), rows}});
  return copy;
}

/// Copies a decoder step after its encoder; only sources have padding.
bool AddAttentionEntryPass::addEncoderDecoder(func::FuncOp entry) {
  if (!isPlainStep(entry) || entry.getOps<CrossSdpaOp>().empty())
    return false;
  func::FuncOp source;
  for (func::FuncOp other : getEntries(getOperation()))
    if (other->hasAttr("transom.encoder"))
      source = other;
  if (!source)
    return false;
  auto encoder = getOperation().lookupSymbol<func::FuncOp>(
      source->getAttrOfType<StringAttr>("transom.encoder"));
  if (!encoder || !isPlainSource(encoder, source) || !findSymbolicIds(encoder))
    return false;
  BlockArgument ids = findSymbolicIds(encoder);
  const int64_t sourceLength = getLargest(ids),
                targetLength = getTargetLength(entry);
  declareSymbol(batchName, maxBatch);
  declareSymbol(lengthName, sourceLength);
  declareSymbol(targetName, targetLength);

  // Move copies of the encoder and its projections into the copied step.
  func::FuncOp copy = copyStep(entry, targetName);
  const unsigned index = ids.getArgNumber(), count = encoder.getNumArguments();
  const SourceValues values =
      inlineSource(copy, copyEncoder(encoder, ids, "attention_encoder"),
                   copyEncoder(source, ids, "attention_source"));
  makeBatchOfStep(copy, "decoder_input_ids", batch,
                  Polynomial::symbol(targetName.str()), values);
  copyWeights(copy);
  WeightsWriter(copy, {copy.getArgument(index), copy.getArgument(count)},
                std::max(sourceLength, targetLength))
      .write();
  return true;
}

/// Copies an encoder; its batch and length must be symbols.
bool AddAttentionEntryPass::addEncoder(func::FuncOp entry) {
  BlockArgument ids = findSymbolicIds(entry);
  if (!ids || llvm::none_of(entry.getOps<SdpaOp>(), [&](SdpaOp op) {
        return isSelfAttention(op, ids);
      }))
    return false;
  const int64_t largest = getLargest(ids);
  declareSymbol(batchName, maxBatch);
  declareSymbol(lengthName, largest);
  func::FuncOp copy = copyEncoder(entry, ids, entryName);
  copyWeights(copy);
  WeightsWriter(copy, copy.getArgument(ids.getArgNumber()), largest).write();
  return true;
}

/// Copies a decoder step, on whole sequences without padding.
bool AddAttentionEntryPass::addDecoder(func::FuncOp entry) {
  if (!isPlainStep(entry) || entry.getOps<SdpaOp>().empty() ||
      !entry.getOps<CrossSdpaOp>().empty())
    return false;
  const int64_t largest = getTargetLength(entry);
  declareSymbol(batchName, maxBatch);
  declareSymbol(lengthName, largest);
  func::FuncOp copy = copyStep(entry, lengthName);
  makeBatchOfStep(copy, "input_ids", batch,
                  Polynomial::symbol(lengthName.str()));
  copyWeights(copy);
  WeightsWriter(copy, copy.getArgument(0), largest).write();
  return true;
}

} // namespace
} // namespace transom
