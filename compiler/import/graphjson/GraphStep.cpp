// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step's rows belong to several sequences, so only attention with a cache may
// read other rows.
#include "compiler/import/graphjson/GraphStep.h"
#include "runtime/manifest/Manifest.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace transom;

/// Begins the entry with new tokens from several sequences, and the requested
/// rows.
Value GraphStep::begin() {
  const GraphInput &input = graph.inputs.front();
  auto wrong = [&](JsonValue at, const std::string &text) {
    return emit.fail(
        at.error((graph.name.empty() ? "a graph with caches is a decoder: "
                                     : "graph 'decoder': ") +
                 text));
  };
  // The runtime derives entries with these names from the decoder.
  for (EntryKind derived : {EntryKind::Logits, EntryKind::Score,
                            EntryKind::Generate, EntryKind::Encode})
    if (graph.entry == getEntryKindName(derived))
      return wrong(input.at, "its entry cannot be named '" + graph.entry +
                                 "', which is derived from it");
  if (graph.inputs.size() != 1)
    return wrong(graph.inputs[1].at, "its one input is the new tokens");
  Result<Dims> shape = dims.shape(input.shape);
  if (!shape)
    return emit.fail(shape.takeError());
  const Polynomial rows = Polynomial::symbol("rows");
  if (input.dtype != DType::I64 || *shape != Dims{rows})
    return wrong(input.at, "its input is i64 [\"rows\"]");
  if (input.maskOf || input.defaultValue)
    return wrong(input.at, "its input has no 'mask_of' and no 'default'");
  if (graph.dims.size() != 1 || graph.dims[0].largest >= 0)
    return wrong(input.at, "its one dim is \"rows\": {}, without a 'max'");
  emit.at(graph.entry, graph.pointer + "/inputs");
  SmallVector<Value> arguments = emit.beginEntry(
      graph.entry,
      {{"tokens", DType::I64, {rows}, "data", {}, {}},
       {"wanted", DType::I64, {Polynomial::symbol("wanted")}, "data", {}, {}}});
  logitTokens = arguments[1];
  state.ragged = emit.sequences();
  return arguments[0];
}

/// Returns true for a value with a dynamic size.
static bool hasRows(Emitter &emit, Value value) {
  return llvm::any_of(emit.getShape(value), [](const Polynomial &size) {
    return !size.isConstant();
  });
}

/// Returns true for a shape with one row per token: floats are [rows, ...].
static bool isByToken(const Dims &shape, Type type) {
  bool floats = isa<FloatType>(cast<TensorType>(type).getElementType());
  return !shape.empty() && shape[0] == Polynomial::symbol("rows") &&
         (!floats || shape.size() > 1) &&
         llvm::all_of(llvm::drop_begin(shape),
                      [](const Polynomial &size) { return size.isConstant(); });
}

/// Returns true if a row in the result of `op` may depend on other operand
/// rows, although the result is [rows, ...].
static bool mixesRows(Operation *op) {
  if (isa<attn::TokenwiseOpInterface, attn::SdpaOp, attn::CrossSdpaOp>(op))
    return false;
  auto rowwise = dyn_cast<attn::RowwiseOpInterface>(op);
  return !rowwise || rowwise.mixesRows();
}

/// A row only depends on rows in its own sequence, through an attention's
/// cache. No other operation may mix rows.
void GraphStep::checkRows(ArrayRef<Value> inputs, ArrayRef<Value> results,
                          const GraphNode &node) {
  auto ofRows = [&](Value value) { return hasRows(emit, value); };
  if (emit.failed() || llvm::none_of(inputs, ofRows))
    return;
  bool mixes = llvm::any_of(results, [&](Value result) {
    return !isByToken(emit.getShape(result), result.getType());
  });

  // Collect the operations created for the node, from its results back to its
  // inputs.
  llvm::SmallSetVector<Operation *, 8> made;
  auto visit = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && !llvm::is_contained(inputs, value) && hasRows(emit, value))
      made.insert(op);
  };
  llvm::for_each(results, visit);
  for (size_t i = 0; i < made.size(); ++i) {
    mixes = mixes || mixesRows(made[i]);
    for (Value operand : made[i]->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        visit(operand);
  }
  if (mixes)
    emit.fail(node.at.error(
        "op '" + node.op + "' mixes rows of a decoder, which 'attention' " +
        "with a cache alone may do; results are [rows, ...]"));
}

/// Returns true for operations that compute each row of their first operand
/// independently.
static bool isByRow(Operation *op) {
  return isa<attn::LinearOp, attn::LayerNormOp, attn::RmsNormOp,
             attn::ActivationOp, attn::ScaleOp>(op);
}

Value GraphStep::gatherLogitRows(Value result) {
  SmallVector<Operation *> users; // in reverse order
  Value from = result;
  // Only the chain itself may read its intermediate results.
  auto isFree = [&] {
    return users.empty() ? from.use_empty() : from.hasOneUse();
  };
  for (Operation *op = from.getDefiningOp(); op && isByRow(op) && isFree();
       op = from.getDefiningOp()) {
    users.push_back(op);
    from = op->getOperand(0);
  }
  return emit.gatherBefore(from, logitTokens, users);
}

void GraphStep::checkTarget(JsonValue output) {
  if (!state.hasCache)
    emit.fail(output.error("a decoder without an attention with 'cache' is not "
                           "supported",
                           Status::Unsupported));
  else if (!causal)
    emit.fail(output.error("the output of a decoder with an encoder is not "
                           "logits, [rows, " +
                               std::to_string(*emit.getBound(0)) +
                               "] as the token embedding has entries; other "
                               "outputs are not supported",
                           Status::Unsupported));
}

void GraphStep::end(ArrayRef<Value> results) {
  if (results.size() != 1)
    return (void)emit.fail(
        graph.body.outputs[1].edge.at.error("a decoder has one output"));
  // Check the output: computed floats [rows, width].
  JsonValue at = graph.body.outputs[0].edge.at;
  Value value = results[0];
  Dims shape = emit.getShape(value);
  if (!value.getDefiningOp() || emit.getWeightExpr(value) ||
      value.getDefiningOp<attn::ConstantOp>() || shape.size() != 2 ||
      shape[0] != Polynomial::symbol("rows") ||
      !isa<FloatType>(cast<TensorType>(value.getType()).getElementType()))
    return (void)emit.fail(
        at.error("the output of a decoder is f32 [rows, width]"));
  // Gather the requested rows.
  emit.at(graph.entry, graph.pointer + "/outputs");
  Value logits = gatherLogitRows(value);
  if (emit.failed())
    return;
  // The output is logits if it is as wide as the vocabulary.
  std::optional<int64_t> vocabulary = emit.getBound(0);
  if (!vocabulary)
    return (void)emit.fail(graph.inputs.front().at.error(
        "a decoder's tokens are the ids of an 'embedding'"));
  causal = *shape[1].constant() == *vocabulary;
  if (state.source)
    checkTarget(at);
  // End the entry with its vocabulary and context.
  emit.endEntry({{causal ? "logits" : "last_hidden_state", logits}});
  OpBuilder &ops = emit.ops();
  emit.annotateEntry("transom.vocabulary", ops.getI64IntegerAttr(*vocabulary));
  if (state.context)
    emit.annotateEntry("transom.context",
                       ops.getI64IntegerAttr(*state.context));
}
