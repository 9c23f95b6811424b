// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens remain rows, batch * length in total. Only attention and positions,
// which combine tokens, use the batch.
#include "passes/graph/StepToBatch.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace transom::attn;

namespace transom {

bool isPlainStep(func::FuncOp function) {
  auto batches = llvm::to_vector(function.getOps<DecodeBatchOp>());
  if (batches.size() != 1 || function.getNumArguments() !=
                                 2 + unsigned(findListedLogits(function) != 0))
    return false;
  auto isKnownUser = [](Operation *user) {
    auto sdpa = dyn_cast<SdpaOp>(user);
    return isa<PositionOp, CrossSdpaOp>(user) || (sdpa && sdpa.getCache());
  };
  return llvm::all_of(batches.front()->getUsers(), isKnownUser) &&
         llvm::all_of(function.getArgument(1).getUsers(),
                      [](Operation *user) { return isa<GatherOp>(user); });
}

void replaceSymbols(func::FuncOp function,
                    ArrayRef<std::pair<std::string, Polynomial>> replacements) {
  auto replace = [&](const Polynomial &size) {
    return size.substitute(
        [&](const std::string &name) -> std::optional<Polynomial> {
          for (const auto &[symbol, other] : replacements)
            if (symbol == name)
              return other;
          return std::nullopt;
        });
  };
  MLIRContext *context = function.getContext();
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](ShapeAttr shape) -> Attribute {
    return ShapeAttr::get(context,
                          llvm::map_to_vector(shape.getDims(), replace));
  });
  replacer.addReplacement([&](SizeAttr size) -> Attribute {
    return SizeAttr::get(context, replace(size.getPolynomial()));
  });
  replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

namespace {

/// Rewrites one step.
class StepRewriter {
public:
  StepRewriter(func::FuncOp function, StringRef name, const Polynomial &batch,
               const Polynomial &length, const SourceValues &source)
      : function(function), name(name), builder(function.getContext()),
        batch(batch), length(length), source(source) {}

  void rewrite();

private:
  void eraseListedLogits();
  void replaceArguments();
  void replacePosition(PositionOp op);
  void replaceAttention(SdpaOp op);
  void replaceCrossAttention(CrossSdpaOp op);
  void replaceResults();
  /// Reshapes [rows, ...] to [batch, length, ...], and back.
  Value split(Location loc, Value rows);
  Value join(Location loc, Value tokens);

  func::FuncOp function;
  StringRef name; // token ids name
  OpBuilder builder;
  Polynomial batch, length;
  const SourceValues &source;
};

Value StepRewriter::split(Location loc, Value rows) {
  Dims dims = getDims(rows);
  dims.front() = length;
  dims.insert(dims.begin(), batch);
  return createReshape(builder, loc, rows, dims);
}

Value StepRewriter::join(Location loc, Value tokens) {
  Dims dims = getDims(tokens);
  dims.erase(dims.begin());
  dims.front() = batch * length;
  return createReshape(builder, loc, tokens, dims);
}

/// Erases the logits for listed tokens, since logits for all tokens exist.
void StepRewriter::eraseListedLogits() {
  const unsigned index = findListedLogits(function);
  if (!index)
    return; // the step has none
  Operation *terminator = function.front().getTerminator();
  Operation *product = terminator->getOperand(index).getDefiningOp();
  terminator->eraseOperand(index);
  function.eraseResult(index);
  function.removeResultAttr(0, builder.getStringAttr("attn.optional"));
  product->erase();
  function.eraseArgument(function.getNumArguments() - 1);
}

/// Replaces the tokens and logit indices by ids for all tokens.
void StepRewriter::replaceArguments() {
  const unsigned index = function.getNumArguments() - 2;
  BlockArgument tokens = function.getArgument(index),
                chosen = function.getArgument(index + 1);
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr("attn.name", builder.getStringAttr(name)),
      builder.getNamedAttr("attn.role", builder.getStringAttr("ids"))};
  if (Attribute bound = function.getArgAttr(index, "attn.bound"))
    attributes.push_back(builder.getNamedAttr("attn.bound", bound));
  Polynomial dims[] = {batch, length};
  function.insertArgument(
      index, getTensorType(dims, getElementTypeOrSelf(tokens)),
      builder.getDictionaryAttr(attributes), tokens.getLoc());
  builder.setInsertionPointToStart(&function.front());
  tokens.replaceAllUsesWith(join(tokens.getLoc(), function.getArgument(index)));
  for (Operation *user : llvm::make_early_inc_range(chosen.getUsers())) {
    auto gather = cast<GatherOp>(user);
    gather.getResult().replaceAllUsesWith(gather.getTable());
    gather.erase();
  }
  function.eraseArgument(index + 2);
  function.eraseArgument(index + 1);
}

void StepRewriter::replacePosition(PositionOp op) {
  builder.setInsertionPoint(op);
  Value columns = createInferred<PositionOp>(
      builder, op.getLoc(), split(op.getLoc(), op.getIds()), Value(),
      op.getKindAttr(), op.getPadAttr());
  op.getResult().replaceAllUsesWith(join(op.getLoc(), columns));
  op.erase();
}

void StepRewriter::replaceAttention(SdpaOp op) {
  Location loc = op.getLoc();
  builder.setInsertionPoint(op);
  auto kind = MaskKindAttr::get(builder.getContext(), MaskKind::None);
  Value query = split(loc, op.getQuery()), key = split(loc, op.getKey()),
        value = split(loc, op.getValue());
  Value result = createInferred<SdpaOp>(
      builder, loc, query, key, value, Value(), Value(), Value(),
      op.getSlopes(), op.getRelativeBias(), op.getPositionKeys(),
      op.getPositionQueries(), op.getHeadsAttr(), op.getKvHeadsAttr(),
      op.getScaleAttr(), kind, op.getCausalAttr(), op.getWindowAttr(),
      op.getSoftCapAttr(), FloatAttr(), op.getMaxDistanceAttr());
  op.getResult().replaceAllUsesWith(join(loc, result));
  op.erase();
}

void StepRewriter::replaceCrossAttention(CrossSdpaOp op) {
  Location loc = op.getLoc();
  builder.setInsertionPoint(op);
  auto cache = op.getCache().getDefiningOp<GetCacheOp>();
  const SourceValues::Layer layer = source.layers.lookup(cache.getCache());
  auto kind = MaskKindAttr::get(builder.getContext(), MaskKind::Ragged);
  const int64_t kvHeads = cast<CacheType>(cache.getType()).getHeads();
  Value result = createInferred<SdpaOp>(
      builder, loc, split(loc, op.getQuery()), layer.key, layer.value, Value(),
      layer.ragged, Value(), Value(), Value(), Value(), Value(),
      op.getHeadsAttr(), builder.getI64IntegerAttr(kvHeads), op.getScaleAttr(),
      kind, UnitAttr(), builder.getI64IntegerAttr(0), op.getSoftCapAttr(),
      FloatAttr(), builder.getI64IntegerAttr(0));
  op.getResult().replaceAllUsesWith(join(loc, result));
  op.erase();
}

void StepRewriter::replaceResults() {
  Operation *terminator = function.front().getTerminator();
  builder.setInsertionPoint(terminator);
  for (OpOperand &result : terminator->getOpOperands())
    result.set(split(result.get().getLoc(), result.get()));
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           terminator->getOperandTypes()));
}

void StepRewriter::rewrite() {
  auto decode = *function.getOps<DecodeBatchOp>().begin();
  eraseListedLogits();
  replaceArguments();
  for (Operation *user : llvm::make_early_inc_range(decode->getUsers())) {
    if (auto position = dyn_cast<PositionOp>(user))
      replacePosition(position);
    else if (auto cross = dyn_cast<CrossSdpaOp>(user))
      replaceCrossAttention(cross);
    else
      replaceAttention(cast<SdpaOp>(user));
  }
  decode.erase();
  replaceResults();
  eraseDeadOps(function.front());
  for (StringRef attribute :
       {"transom.context", "transom.vocabulary", "transom.class_row",
        "transom.class_token", "transom.start_rule"})
    function->removeAttr(attribute);
}

} // namespace

void makeBatchOfStep(func::FuncOp function, StringRef name,
                     const Polynomial &batch, const Polynomial &length,
                     const SourceValues &source) {
  StepRewriter(function, name, batch, length, source).rewrite();
}

} // namespace transom
