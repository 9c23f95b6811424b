// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers are compared by their operations and shapes. Equal layers repeat with
// a period: 1 if all are equal, 2 if two kinds alternate.
#include "compiler/inspect/ReadGraph.h"
#include "compiler/statistics/ModelComponents.h"
#include "dialects/common/Location.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>
#include <set>

using namespace mlir;
using namespace transom;

/// The max period of a layer pattern.
static constexpr size_t maxPeriod = 16;

//===----------------------------------------------------------------------===//
// Operations as nodes
//===----------------------------------------------------------------------===//

/// Returns true for values computed from weights only.
static bool isWeight(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<attn::DecodeBatchOp>(op))
    return false;
  if (isa<attn::GetWeightOp, attn::GetCacheOp, attn::ConstantOp>(op))
    return true;
  return op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), isWeight);
}

/// Returns true for operations that change only layout or type.
static bool isLayout(Operation *op) {
  return isa<attn::ReshapeOp, attn::TransposeOp, attn::CastOp>(op);
}

static std::string getShape(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return "";
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "[";
  llvm::interleaveComma(attn::getSymbolicShape(type), stream,
                        [&](const Polynomial &dim) { stream << dim.str(); });
  stream << "]";
  return stream.str();
}

static DrawnKind getKind(Operation *op) {
  if (isa<attn::EmbeddingOp>(op))
    return DrawnKind::Embedding;
  if (isa<attn::LinearOp>(op))
    return DrawnKind::Product;
  if (isa<attn::SdpaOp, attn::CrossSdpaOp, attn::SoftmaxOp>(op))
    return DrawnKind::Attention;
  if (isa<attn::MatmulOp>(op))
    return llvm::any_of(op->getOperands(), isWeight) ? DrawnKind::Product
                                                     : DrawnKind::Attention;
  if (isa<attn::LayerNormOp, attn::RmsNormOp>(op))
    return DrawnKind::Norm;
  if (isa<attn::ActivationOp>(op))
    return DrawnKind::Activation;
  return DrawnKind::Other;
}

/// Returns the last dimension.
static std::string getWidth(Value value) {
  auto shape = attn::getSymbolicShape(value.getType());
  return shape.empty() ? "1" : shape.back().str();
}

/// Returns the operation name with its distinguishing attributes.
static std::string getTitle(Operation *op) {
  const std::string name = op->getName().stripDialect().str();
  if (auto activation = dyn_cast<attn::ActivationOp>(op))
    return std::string(getActivationName(activation.getKind()));
  if (getKind(op) == DrawnKind::Product)
    return name + " " + getWidth(op->getOperand(0)) + " \u2192 " +
           getWidth(op->getResult(0));
  if (auto embedding = dyn_cast<attn::EmbeddingOp>(op))
    return name + " " + getShape(embedding.getTable());
  if (auto sdpa = dyn_cast<attn::SdpaOp>(op))
    return name + ", " + std::to_string(sdpa.getHeads()) + " heads" +
           (sdpa.getCausal() ? ", causal" : "");
  if (auto cross = dyn_cast<attn::CrossSdpaOp>(op))
    return name + ", " + std::to_string(cross.getHeads()) + " heads";
  return name;
}

/// Returns a string that is equal for layers drawn as one.
static std::string getSignature(Operation *op) {
  std::string text = op->getName().stripDialect().str();
  for (Value operand : op->getOperands())
    text += isWeight(operand) ? " " + getShape(operand) : " .";
  for (Value result : op->getResults())
    text += " " + getShape(result);
  if (auto sdpa = dyn_cast<attn::SdpaOp>(op))
    text += " " + std::to_string(sdpa.getWindow());
  return text + (isa<attn::ActivationOp>(op) ? getTitle(op) : "") + "\n";
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

namespace {

/// A layer in an entry's stack.
struct DrawnLayer {
  LayerId id;
  std::vector<Operation *> ops;
  std::string signature;
  /// The layer drawn in its place, or itself.
  size_t drawn = 0;
  size_t run = 0;    ///< layers drawn as one group
  size_t repeat = 0; ///< count of previous repeats of the drawn layers
};

/// Reads one entry.
class EntryReader {
public:
  EntryReader(ModelGraph &graph, int64_t group) : graph(graph), group(group) {}

  void read(func::FuncOp function);

private:
  void findLayers(Block &body);
  void findRuns();
  void addRun(size_t begin, size_t period, size_t count);
  int64_t addNode(Operation *op, int64_t parent, StringRef stack);
  void addOperand(Value value, int64_t to, const DrawnLayer *layer,
                  std::string shape);

  ModelGraph &graph;
  const int64_t group;
  std::vector<DrawnLayer> layers;
  llvm::DenseMap<Operation *, size_t> layerOf;
  llvm::DenseMap<Operation *, int64_t> nodeOf; ///< for drawn layers
  llvm::DenseMap<Operation *, Operation *> drawnFor;
  llvm::DenseMap<Value, int64_t> argumentNodes;
  std::set<std::tuple<int64_t, int64_t, std::string>> seen;
};

} // namespace

/// For operations outside layers, the layers that they depend on.
using LeftLayers = llvm::DenseMap<Operation *, std::set<size_t>>;

/// Returns the operation that produces a value, ignoring layout changes.
static Operation *getMaker(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isLayout(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

void EntryReader::findLayers(Block &body) {
  std::map<LayerId, size_t> known;
  LeftLayers left;
  for (Operation &op : body.without_terminator()) {
    if (isLayout(&op) || (op.getNumResults() > 0 && isWeight(op.getResult(0))))
      continue;
    std::set<size_t> entered, passed;
    for (Value operand : op.getOperands()) {
      Operation *maker = getMaker(operand);
      if (auto at = layerOf.find(maker); maker && at != layerOf.end())
        entered.insert(at->second);
      else if (auto outside = left.find(maker); maker && outside != left.end())
        passed.insert(outside->second.begin(), outside->second.end());
    }
    const LayerId id = getLayerId(getModulePath(op.getLoc()));
    const size_t index =
        known.count(id) ? known[id] : static_cast<size_t>(layers.size());
    // Results computed from a value after it leaves the layer are outside the
    // box, otherwise edges would lead back.
    if (!id.isLayer() || passed.count(index)) {
      passed.insert(entered.begin(), entered.end());
      left[&op] = std::move(passed);
      continue;
    }
    if (index == layers.size()) {
      known[id] = index;
      layers.push_back({id, {}, {}, index, 0, 0});
    }
    layers[index].ops.push_back(&op);
    layers[index].signature += getSignature(&op);
    layerOf[&op] = index;
  }
}

/// The layers begin..begin + period * count in a stack are drawn as the first
/// `period` layers.
void EntryReader::addRun(size_t begin, size_t period, size_t count) {
  const auto run = static_cast<size_t>(graph.groups.size());
  const DrawnLayer &first = layers[begin];
  const size_t last = begin + period * count - 1;
  std::string title = first.id.stack + " " + std::to_string(first.id.index);
  if (last > begin)
    title += "-" + std::to_string(layers[last].id.index);
  std::string repeats;
  if (count > 1)
    repeats = (period > 1 ? std::to_string(period) + " layers " : "") +
              std::string("\u00d7 ") + std::to_string(count);
  graph.groups.push_back({title, repeats, group});
  for (size_t i = begin; i <= last; ++i) {
    DrawnLayer &layer = layers[i];
    layer.run = run;
    layer.drawn = begin + (i - begin) % period;
    layer.repeat = (i - begin) / period;
    for (size_t k = 0; k < layer.ops.size(); ++k)
      drawnFor[layer.ops[k]] = layers[layer.drawn].ops[k];
  }
}

void EntryReader::findRuns() {
  for (size_t begin = 0; begin < layers.size();) {
    // Covers as many layers as possible; among equal counts the shortest
    // period.
    size_t bestPeriod = 1, bestCount = 1;
    for (size_t period = 1; period <= maxPeriod; ++period) {
      size_t end = begin + period;
      while (end < layers.size() &&
             layers[end].id.stack == layers[begin].id.stack &&
             layers[end].signature == layers[end - period].signature)
        ++end;
      const size_t count = (end - begin) / period;
      if (count > 1 && count * period > bestCount * bestPeriod) {
        bestPeriod = period;
        bestCount = count;
      }
    }
    addRun(begin, bestPeriod, bestCount);
    begin += bestPeriod * bestCount;
  }
}

//===----------------------------------------------------------------------===//
// Nodes and edges
//===----------------------------------------------------------------------===//

int64_t EntryReader::addNode(Operation *op, int64_t parent, StringRef stack) {
  std::string path = getModulePath(op->getLoc());
  StringRef rest = path;
  if (!stack.empty() && rest.consume_front(stack) && rest.consume_front("."))
    rest = rest.drop_while([](char c) { return c != '.'; })
               .drop_front(rest.contains('.') ? 1 : 0);
  graph.nodes.push_back({getKind(op), getTitle(op), rest.str(), parent});
  return static_cast<int64_t>(graph.nodes.size()) - 1;
}

/// Adds edges to `to` from the producer of a value. `layer` is the reader's
/// layer, null outside layers.
void EntryReader::addOperand(Value value, int64_t to, const DrawnLayer *layer,
                             std::string shape) {
  if (isWeight(value))
    return;
  int64_t from = 0;
  Operation *op = value.getDefiningOp();
  if (!op) {
    from = argumentNodes.lookup(value);
  } else if (isLayout(op)) {
    return addOperand(op->getOperand(0), to, layer, std::move(shape));
  } else {
    auto known = layerOf.find(op);
    // Edges between repeats are not drawn.
    if (layer && known != layerOf.end() &&
        layers[known->second].run == layer->run &&
        layers[known->second].repeat != layer->repeat)
      return;
    Operation *drawn = drawnFor.lookup(op);
    from = nodeOf.lookup(drawn ? drawn : op);
  }
  if (seen.insert({from, to, shape}).second)
    graph.edges.push_back({from, to, std::move(shape)});
}

void EntryReader::read(func::FuncOp function) {
  Block &body = function.getBody().front();
  findLayers(body);
  findRuns();
  auto getName = [](DictionaryAttr attributes) {
    auto name =
        attributes ? attributes.getAs<StringAttr>("attn.name") : StringAttr();
    return name ? name.getValue().str() : std::string("value");
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    argumentNodes[function.getArgument(i)] =
        static_cast<int64_t>(graph.nodes.size());
    graph.nodes.push_back({DrawnKind::Input,
                           getName(function.getArgAttrDict(i)), "input",
                           group});
  }
  // Operations in layers that are not drawn only add edges to later operations.
  for (Operation &op : body.without_terminator()) {
    if (isLayout(&op) || (op.getNumResults() > 0 && isWeight(op.getResult(0))))
      continue;
    auto inLayer = layerOf.find(&op);
    const DrawnLayer *layer =
        inLayer == layerOf.end() ? nullptr : &layers[inLayer->second];
    Operation *drawn = layer ? drawnFor.lookup(&op) : &op;
    if (drawn == &op)
      nodeOf[&op] =
          addNode(&op, layer ? static_cast<int64_t>(layer->run) : group,
                  layer ? StringRef(layer->id.stack) : StringRef());
    for (Value operand : op.getOperands())
      addOperand(operand, nodeOf.lookup(drawn), layer, getShape(operand));
  }
  Operation *end = body.getTerminator();
  for (unsigned i = 0; i < end->getNumOperands(); ++i) {
    const auto node = static_cast<int64_t>(graph.nodes.size());
    graph.nodes.push_back({DrawnKind::Output,
                           getName(function.getResultAttrDict(i)), "output",
                           group});
    addOperand(end->getOperand(i), node, nullptr, getShape(end->getOperand(i)));
  }
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

ModelGraph transom::readGraph(ModuleOp module, const std::string &title) {
  ModelGraph graph;
  graph.groups.push_back({title, "", -1});
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isDeclaration())
      entries.push_back(function);
  for (func::FuncOp entry : entries) {
    int64_t group = 0;
    if (entries.size() > 1) {
      group = static_cast<int64_t>(graph.groups.size());
      graph.groups.push_back({"entry " + entry.getSymName().str(), "", 0});
    }
    EntryReader(graph, group).read(entry);
  }
  return graph;
}
