// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LayerFinder finds runs of equal layers; this pass replaces a run by a private
// function and one attn.layers. It replaces the last run first, because a later
// run's initial state may come from an earlier run.
#include "mlir/IR/IRMapping.h"
#include "passes/Remarks.h"
#include "passes/graph/GraphSupport.h"
#include "passes/graph/LayerConstants.h"
#include "passes/graph/LayerRuns.h"
#include "passes/graph/LayerScales.h"
#include "passes/graph/Passes.h"

#define DEBUG_TYPE "attn-outline-layers"

using namespace mlir;
using namespace transom::attn;

namespace transom {

#define GEN_PASS_DEF_OUTLINELAYERSPASS
#include "passes/graph/Passes.h.inc"

namespace {

/// Moves operations that depend only on arguments and constants to the front,
/// for example a mask that the first layer computes and all layers read.
void hoistMaskOps(Block &block) {
  DenseSet<Operation *> hoisted;
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    bool movable = isMemoryEffectFree(&op) && !givesParameter(&op) &&
                   llvm::all_of(op.getOperands(), [&](Value operand) {
                     Operation *from = operand.getDefiningOp();
                     return !from || hoisted.contains(from);
                   });
    if (!movable)
      continue;
    if (last)
      op.moveAfter(last);
    else
      op.moveBefore(&block, block.begin());
    last = &op;
    hoisted.insert(&op);
  }
}

/// The symbol of a weight or cache.
FlatSymbolRefAttr getSymbol(Operation *op) {
  if (auto cache = dyn_cast<GetCacheOp>(op))
    return cache.getCacheAttr();
  return cast<GetWeightOp>(op).getWeightAttr();
}

/// Replaces one run.
class RunOutliner {
public:
  RunOutliner(func::FuncOp entry, ArrayRef<Operation *> ops,
              const LayerRun &run)
      : entry(entry), ops(ops), run(run), builder(entry.getContext()) {}

  /// Returns the operation that runs the layers.
  LayersOp outline(SymbolTable &symbols);

private:
  func::FuncOp createBody(SymbolTable &symbols);
  void cloneGroup(Block &body);
  Location getStepLocation(size_t offset);
  Operation *getOp(size_t group, size_t offset) const {
    return ops[run.begin + group * run.period + offset];
  }

  func::FuncOp entry;
  ArrayRef<Operation *> ops;
  const LayerRun &run;
  OpBuilder builder;
};

Location RunOutliner::getStepLocation(size_t offset) {
  SmallVector<Location> locations;
  for (size_t group = 0; group < run.count; ++group)
    locations.push_back(getOp(group, offset)->getLoc());
  return fuseLocations(entry.getContext(), locations);
}

/// Clones the second group, because its carried tensor is not defined before
/// the run.
void RunOutliner::cloneGroup(Block &body) {
  // Map state, invariants and weights to the body's arguments.
  IRMapping mapping;
  size_t parameter = 0;
  mapping.map(getOp(0, run.carried)->getResult(0),
              body.getArgument(parameter++));
  for (Value value : run.invariants)
    mapping.map(value, body.getArgument(parameter++));
  for (Operation *weight : run.weights[1])
    mapping.map(weight->getResult(0), body.getArgument(parameter++));

  // Clone the operations, and the constants that they read.
  builder.setInsertionPointToEnd(&body);
  for (size_t offset = 0; offset < run.period; ++offset) {
    Operation *op = getOp(1, offset);
    Location location = getStepLocation(offset);
    for (Value operand : op->getOperands())
      if (auto constant = operand.getDefiningOp<ConstantOp>())
        if (!mapping.contains(operand))
          builder.clone(*constant, mapping)->setLoc(location);
    builder.clone(*op, mapping)->setLoc(location);
  }
  Value result = mapping.lookup(getOp(1, run.carried)->getResult(0));
  builder.create<func::ReturnOp>(result.getLoc(), result);
}

func::FuncOp RunOutliner::createBody(SymbolTable &symbols) {
  // The arguments are the state, the invariants, and a layer's weights.
  SmallVector<Type> types = {run.state.getType()};
  for (Value value : run.invariants)
    types.push_back(value.getType());
  for (Operation *weight : run.weights[1])
    types.push_back(weight->getResult(0).getType());
  auto type =
      FunctionType::get(entry.getContext(), types, {run.state.getType()});
  auto body = func::FuncOp::create(entry.getLoc(), "layer", type);
  body.setPrivate();
  symbols.insert(body, std::next(entry->getIterator()));
  Block *block = body.addEntryBlock();
  cloneGroup(*block);

  // The body's location combines all of its layers.
  SmallVector<Location> locations;
  for (Operation &op : *block)
    locations.push_back(op.getLoc());
  Location location = fuseLocations(entry.getContext(), locations);
  body->setLoc(location);
  for (BlockArgument argument : block->getArguments())
    argument.setLoc(location);
  return body;
}

LayersOp RunOutliner::outline(SymbolTable &symbols) {
  // Create the operation with an entry for each layer.
  func::FuncOp body = createBody(symbols);
  MLIRContext *context = entry.getContext();
  auto name = FlatSymbolRefAttr::get(context, body.getName());
  SmallVector<Attribute> layers;
  for (ArrayRef<Operation *> weights : run.weights) {
    auto refs = llvm::map_to_vector(weights, getSymbol);
    layers.push_back(LayerAttr::get(context, name, refs));
  }
  builder.setInsertionPoint(ops[run.begin]);
  auto op =
      builder.create<LayersOp>(body.getLoc(), run.state.getType(), run.state,
                               run.invariants, builder.getArrayAttr(layers));

  // Replace the last layer's result, and erase the layers.
  getOp(run.count - 1, run.carried)
      ->getResult(0)
      .replaceAllUsesWith(op.getResult());
  for (size_t i = run.end(); i > run.begin; --i)
    ops[i - 1]->erase();
  return op;
}

class OutlineLayersPass
    : public impl::OutlineLayersPassBase<OutlineLayersPass> {
public:
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    Remarks remarks(getOperation());
    for (func::FuncOp entry : getEntries(getOperation()))
      runOnEntry(entry, symbols, remarks);
  }

private:
  void runOnEntry(func::FuncOp entry, SymbolTable &symbols, Remarks &remarks);
};

/// Reports the operation counts inside and outside layers.
static void reportEntry(func::FuncOp entry, ArrayRef<LayerRun> runs,
                        Remarks &remarks) {
  size_t layers = 0;
  for (const LayerRun &run : runs)
    layers += run.count;
  auto others = llvm::count_if(
      entry.getBody().front().without_terminator(), [](Operation &op) {
        return !givesParameter(&op) && !isa<ConstantOp, LayersOp>(op);
      });
  remarks.report(entry, {RemarkId::EntryOutlined,
                         {{"entry", entry.getName()},
                          {"layers", layers},
                          {"runs", runs.size()},
                          {"operations", others}}});
}

void OutlineLayersPass::runOnEntry(func::FuncOp entry, SymbolTable &symbols,
                                   Remarks &remarks) {
  Block &block = entry.getBody().front();
  hoistMaskOps(block);
  shareConstants(entry, symbols);
  equalizeScales(entry, symbols, remarks);
  LayerFinder finder(block);
  finder.find();
  for (const NoLayerRun &miss : finder.refused())
    remarks.report(finder.ops()[miss.repeat.begin], miss.problem.getReason());
  for (const LayerRun &run : llvm::reverse(finder.runs())) {
    LayersOp layers = RunOutliner(entry, finder.ops(), run).outline(symbols);
    ++runs;
    rows += run.count;
    LayerAttr first = cast<LayerAttr>(layers.getLayers()[0]);
    remarks.report(layers, {RemarkId::LayersOutlined,
                            {{"layers", run.count},
                             {"operations", run.period},
                             {"body", first.getBody().getValue()},
                             {"weights", run.weights[1].size()}}});
  }
  eraseDeadOps(block);
  reportEntry(entry, finder.runs(), remarks);
}

} // namespace
} // namespace transom
