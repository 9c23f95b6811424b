// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts a parsed graph.json to a module: inputs and masks, nodes through the
// operation table, blocks expanded for each repetition.
#include "compiler/import/graphjson/GraphImport.h"
#include "compiler/import/graphjson/GraphLabels.h"
#include "compiler/import/graphjson/GraphSource.h"
#include "compiler/import/graphjson/GraphStep.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Suggest.h"

using namespace mlir;
using namespace transom;

namespace {

using Values = SmallVector<Value>;

/// Limits: nodes after block expansion, and tensor elements if each dim is 1.
constexpr size_t maxExpandedNodes = 1000000;
constexpr uint64_t maxElements = uint64_t(1) << 40;

/// An input that marks padding: bool [batch, seq].
struct PaddingMask {
  Dims shape;
  Value visible;
};

class GraphBuilder {
public:
  /// `source` is null without an encoder.
  GraphBuilder(Emitter &emit, const GraphFile &file, const Graph &graph,
               GraphSource *source)
      : emit(emit), file(file), graph(graph), source(source), dims(graph.dims),
        step(emit, graph, dims) {
    if (graph.role == GraphRole::Decoder)
      step.state.source = source;
  }
  /// Builds the entry; errors are recorded in the emitter.
  void build();
  /// Returns the head's name in the manifest.
  const char *head() const { return classifier ? classifier : step.head(); }
  /// Returns a decoder's max sequence length.
  std::optional<int64_t> longest() const { return step.state.context; }

private:
  bool isDecoder() const { return graph.role == GraphRole::Decoder; }
  using Scope = std::map<std::string, Values>;

  void entryInputs(std::vector<EntryInput> &inputs);
  void checkMask(const GraphInput &mask, const std::vector<EntryInput> &inputs);
  void checkDimsAreBound();
  void beginEntry(Scope &scope);
  void endEntry(const Values &results);
  Value result(const GraphOutput &output, Value value);

  /// Builds a body's nodes and returns its outputs.
  Values body(const GraphBody &body, Scope scope, const std::string &place,
              const std::string &prefix);
  Values operation(const GraphNode &node, Values inputs,
                   const std::string &place, const NodeScope &scope);
  Values instance(const GraphNode &node, Values inputs,
                  const std::string &place, const std::string &prefix);
  std::string prefixFor(const GraphNode &node, const std::string &prefix,
                        int64_t number);
  Value resolve(const GraphEdge &edge, const Scope &scope);
  void countNode(const GraphNode &node);
  void checkSize(Value value, const GraphNode &node);

  Emitter &emit;
  const GraphFile &file;
  const Graph &graph;
  GraphSource *source;
  DimTable dims;
  std::vector<PaddingMask> masks;
  GraphStep step; // for a decoder
  const char *classifier = nullptr;
  std::set<std::string> active; // blocks being expanded
  size_t nodes = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Returns true if a size is one integer or one dim.
static bool isSimple(const Polynomial &size) {
  if (size.isConstant())
    return true;
  return size.terms().size() == 1 && size.terms().begin()->second == 1 &&
         size.terms().begin()->first.size() == 1;
}

/// Returns the element count if each dim is 1; nullopt on overflow.
static std::optional<uint64_t> unitElements(const Dims &shape) {
  CheckedSize elements = 1;
  for (const Polynomial &size : shape) {
    CheckedSize sum;
    for (const auto &[monomial, coefficient] : size.terms())
      sum += CheckedSize(std::abs(coefficient));
    elements *= sum;
  }
  return elements.value();
}

void GraphBuilder::entryInputs(std::vector<EntryInput> &inputs) {
  for (const GraphInput &input : graph.inputs) {
    Result<Dims> shape = dims.shape(input.shape);
    if (!shape) {
      emit.fail(shape.takeError());
      return;
    }
    // Check the sizes.
    for (auto [i, size] : llvm::enumerate(*shape))
      if (!isSimple(size)) {
        emit.fail(input.shape[i].error("a size of an input is an integer or "
                                       "a dim"));
        return;
      }
    if (unitElements(*shape).value_or(UINT64_MAX) > maxElements) {
      emit.fail(input.at.error("input '" + input.name + "' is too large"));
      return;
    }
    // Create the entry input.
    EntryInput entry{input.name, input.dtype, *shape,
                     "data",     {},          input.defaultValue};
    entry.pointer = graph.pointer + "/inputs/" + std::to_string(inputs.size());
    if (input.maskOf) {
      entry.role = "mask";
      entry.maskOf = *input.maskOf;
    }
    inputs.push_back(entry);
  }
}

void GraphBuilder::checkMask(const GraphInput &mask,
                             const std::vector<EntryInput> &inputs) {
  const EntryInput *self = nullptr, *target = nullptr;
  std::vector<std::string> names;
  for (const EntryInput &input : inputs) {
    names.push_back(input.name);
    if (input.name == mask.name)
      self = &input;
    if (input.name == *mask.maskOf)
      target = &input;
  }
  JsonValue at = *mask.at.find("mask_of");
  if (!target || target == self || target->role == "mask")
    emit.fail(at.error("'" + *mask.maskOf + "' is no input that can be masked" +
                       suggest(*mask.maskOf, names)));
  else if (self->shape.size() != 2 || target->shape.size() < 2 ||
           !std::equal(self->shape.begin(), self->shape.end(),
                       target->shape.begin()))
    emit.fail(at.error("a mask is i64, i32 or bool [batch, seq] with the "
                       "leading sizes of '" +
                       target->name + "'"));
}

void GraphBuilder::checkDimsAreBound() {
  std::set<std::string> bound;
  for (const GraphInput &input : graph.inputs)
    for (JsonValue size : input.shape.elements())
      if (size.isString())
        bound.insert(std::string(*size.asString()));
  for (const GraphDim &dim : graph.dims)
    if (!bound.count(dim.name))
      emit.fail(graph.inputs.front().at.error("dim '" + dim.name +
                                              "' is in no input's shape"));
}

void GraphBuilder::beginEntry(Scope &scope) {
  std::vector<EntryInput> inputs;
  entryInputs(inputs);
  if (emit.failed())
    return;
  for (const GraphInput &input : graph.inputs)
    if (input.maskOf)
      checkMask(input, inputs);
  checkDimsAreBound();
  if (graph.role == GraphRole::Encoder)
    source->checkInputs(inputs);
  if (emit.failed())
    return;
  emit.at(graph.entry, graph.pointer + "/inputs");
  SmallVector<Value> arguments = emit.beginEntry(graph.entry, inputs);
  for (auto [i, input] : llvm::enumerate(inputs)) {
    scope[input.name] = {arguments[i]};
    if (input.role != "mask")
      continue;
    emit.at(input.name, input.pointer);
    masks.push_back({input.shape, input.dtype == DType::Bool
                                      ? arguments[i]
                                      : emit.cast(arguments[i], DType::Bool)});
  }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Value GraphBuilder::resolve(const GraphEdge &edge, const Scope &scope) {
  const Values &values = scope.find(edge.source)->second;
  if (edge.result < values.size())
    return values[edge.result];
  return emit.fail(edge.at.error("'" + edge.source + "' has " +
                                 std::to_string(values.size()) +
                                 (values.size() == 1 ? " result" : " results") +
                                 ", no number " + std::to_string(edge.result)));
}

/// Counts empty blocks too, so that the work is bounded.
void GraphBuilder::countNode(const GraphNode &node) {
  if (++nodes > maxExpandedNodes)
    emit.fail(node.at.error("more than " + std::to_string(maxExpandedNodes) +
                            " nodes with all blocks written out"));
}

void GraphBuilder::checkSize(Value value, const GraphNode &node) {
  if (!value)
    return;
  Dims shape = emit.getShape(value);
  if (shape.size() > 8)
    emit.fail(node.at.error("a result of " + std::to_string(shape.size()) +
                            " dimensions; supported: up to 8"));
  else if (unitElements(shape).value_or(UINT64_MAX) > maxElements)
    emit.fail(node.at.error("a result is too large"));
}

Values GraphBuilder::operation(const GraphNode &node, Values inputs,
                               const std::string &place,
                               const NodeScope &scope) {
  const GraphOp *op = findGraphOp(node.op);
  if (!op) {
    emit.fail(node.at.find("op")->error("unknown op '" + node.op + "'" +
                                            describeGraphOps(node.op),
                                        Status::Unsupported));
    return {};
  }
  emit.at(place + node.name, node.at.pointer());
  emit.setErrorPrefix(node.at.where() + ": ");
  OpCall call(emit, dims, *op, node, scope, std::move(inputs));
  call.check();
  if (emit.failed())
    return {};
  if (graph.role == GraphRole::Encoder && node.op == "attention" &&
      call.inputs.size() == 3) {
    call.fail("an attention of an encoder needs a mask, because sources are "
              "padded to the longest of a batch");
    return {};
  }
  Values results = op->build(call);
  for (Value result : results)
    checkSize(result, node);
  if (isDecoder() && !emit.failed())
    step.checkRows(call.inputs, results, node);
  return results;
}

std::string GraphBuilder::prefixFor(const GraphNode &node,
                                    const std::string &prefix, int64_t number) {
  std::string own = node.weights;
  for (size_t at = own.find("{i}"); at != std::string::npos;
       at = own.find("{i}")) {
    if (!node.repeat) {
      emit.fail(node.at.find("weights")->error("'{i}' needs a 'repeat'"));
      return prefix;
    }
    own.replace(at, 3, std::to_string(number));
  }
  return prefix + own;
}

Values GraphBuilder::instance(const GraphNode &node, Values inputs,
                              const std::string &place,
                              const std::string &prefix) {
  auto found = file.blocks.find(node.block);
  if (found == file.blocks.end()) {
    std::vector<std::string> names;
    for (const auto &[name, block] : file.blocks)
      names.push_back(name);
    emit.fail(node.at.find("block")->error("unknown block '" + node.block +
                                           "'" + suggest(node.block, names)));
    return {};
  }
  const GraphBody &block = found->second;
  if (inputs.size() != block.inputs.size()) {
    emit.fail(node.at.error("block '" + node.block + "' expects " +
                            std::to_string(block.inputs.size()) +
                            " inputs, got " + std::to_string(inputs.size())));
    return {};
  }
  if (node.repeat > 1 && block.outputs.size() > block.inputs.size()) {
    emit.fail(node.at.error("block '" + node.block +
                            "' is repeated, but gives more than it takes"));
    return {};
  }
  if (!active.insert(node.block).second) {
    emit.fail(node.at.error("block '" + node.block + "' contains itself"));
    return {};
  }
  Values state = std::move(inputs), results;
  for (int64_t i = 0; i < std::max<int64_t>(node.repeat, 1); ++i) {
    countNode(node);
    Scope scope;
    for (auto [parameter, value] : llvm::zip_equal(block.inputs, state))
      scope[parameter.name] = {value};
    std::string inside = place + node.name + ".";
    if (node.repeat)
      inside += std::to_string(i) + ".";
    results = body(block, std::move(scope), inside, prefixFor(node, prefix, i));
    if (emit.failed())
      break;
    std::copy(results.begin(),
              results.begin() + std::min(results.size(), state.size()),
              state.begin());
  }
  active.erase(node.block);
  return results;
}

Values GraphBuilder::body(const GraphBody &body, Scope scope,
                          const std::string &place, const std::string &prefix) {
  CacheScope caches{body.caches, place, {}};
  NodeScope inside{prefix, caches, step.state};
  for (const GraphNode &node : body.nodes) {
    countNode(node);
    Values inputs;
    for (const GraphEdge &edge : node.inputs)
      if (!emit.failed())
        inputs.push_back(resolve(edge, scope));
    if (emit.failed())
      return {};
    Values results = node.block.empty()
                         ? operation(node, std::move(inputs), place, inside)
                         : instance(node, std::move(inputs), place, prefix);
    if (emit.failed())
      return {};
    if (!node.outputNames.empty() && node.outputNames.size() != results.size())
      emit.fail(node.at.error(
          "'outputs' names " + std::to_string(node.outputNames.size()) +
          " results, the node has " + std::to_string(results.size())));
    for (size_t i = 0; i < node.outputNames.size() && !emit.failed(); ++i)
      scope[node.outputNames[i]] = {results[i]};
    scope[node.name] = std::move(results);
  }
  for (const GraphCache &cache : body.caches)
    if (!caches.used.count(cache.name))
      emit.fail(cache.at.error("no attention of this body uses the cache '" +
                               cache.name + "'"));
  Values outputs;
  for (const GraphOutput &output : body.outputs)
    if (!emit.failed())
      outputs.push_back(resolve(output.edge, scope));
  return outputs;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Returns a result with zeros at padding, if a single mask applies.
Value GraphBuilder::result(const GraphOutput &output, Value value) {
  JsonValue at = output.edge.at;
  Operation *op = value.getDefiningOp();
  if (!op || isa<attn::GetWeightOp, attn::ConstantOp>(op))
    return emit.fail(at.error("an output that is an input, a weight or a "
                              "constant is not supported",
                              Status::Unsupported));
  if (!isa<FloatType>(cast<TensorType>(value.getType()).getElementType()))
    return emit.fail(
        at.error("an output of integers or bools is not supported; "
                 "cast it to f32",
                 Status::Unsupported));
  Dims shape = emit.getShape(value);
  const PaddingMask *fits = nullptr;
  for (const PaddingMask &mask : masks) {
    // With fixed sizes, [batch, 5] may be anything; with named sizes it is the
    // tokens.
    if (shape.size() < (mask.shape[1].isConstant() ? 3 : 2) ||
        !std::equal(mask.shape.begin(), mask.shape.end(), shape.begin()))
      continue;
    if (fits) // two masks: padding is ambiguous
      return value;
    fits = &mask;
  }
  if (!fits)
    return value;
  Dims wide = fits->shape;
  wide.resize(shape.size(), Polynomial(1));
  emit.at(output.name, at.pointer());
  emit.setErrorPrefix(at.where() + ": ");
  Value visible =
      shape.size() == 2 ? fits->visible : emit.reshape(fits->visible, wide);
  return emit.mask(value, visible, 0.0);
}

void GraphBuilder::endEntry(const Values &results) {
  std::vector<EntryOutput> outputs;
  for (auto [output, value] : llvm::zip_equal(graph.body.outputs, results))
    if (!emit.failed())
      outputs.push_back({output.name, result(output, value)});
  if (file.labelsAt && !emit.failed())
    classifier = getClassifier(file, outputs, emit);
  emit.at(graph.entry, graph.pointer + "/outputs");
  emit.endEntry(outputs);
}

void GraphBuilder::build() {
  if (emit.failed())
    return;
  Scope scope;
  if (isDecoder())
    scope[graph.inputs.front().name] = {step.begin()};
  else
    beginEntry(scope);
  if (emit.failed())
    return;
  Values results = body(graph.body, std::move(scope),
                        graph.name.empty() ? "" : graph.name + ".", "");
  if (emit.failed())
    return;
  if (isDecoder())
    return step.end(results);
  endEntry(results);
  if (graph.role == GraphRole::Encoder)
    source->setStates(results);
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// Opens weight files, and fills in the import info.
static Result<void> openFiles(const GraphFile &file, ImportInfo &info) {
  if (!file.weights.empty()) {
    TRANSOM_ASSIGN(ModelFiles files,
                   ModelFiles::openFiles(info.folder, file.weights));
    info.files = std::move(files);
  }
  if (!file.name.empty())
    info.name = file.name;
  info.family = "graph";
  info.architecture = info.name;
  info.inputFiles = {info.baseFile};
  info.inputFiles.insert(info.inputFiles.end(), info.files.fileNames().begin(),
                         info.files.fileNames().end());
  return {};
}

Result<OwningOpRef<ModuleOp>> transom::importGraph(MLIRContext &context,
                                                   ImportInfo &info) {
  TRANSOM_ASSIGN(JsonDocument document,
                 parseJsonFile(joinPath(info.folder, info.baseFile)));
  TRANSOM_ASSIGN(GraphFile file, readGraphFile(document));
  TRANSOM_TRY(openFiles(file, info));
  for (std::string &note : getNotes(file))
    info.notes.push_back(std::move(note));

  // Build the encoder's entry, the graph's entry, and the source entry.
  Emitter emit(context, info.files, info.baseFile);
  std::optional<GraphSource> source;
  if (file.encoder) {
    source.emplace(emit, *file.encoder);
    source->checkEntries(file.main);
    GraphBuilder(emit, file, *file.encoder, &*source).build();
  }
  GraphBuilder graph(emit, file, file.main, source ? &*source : nullptr);
  graph.build();
  if (source)
    source->build();
  if (emit.failed())
    return emit.takeError();

  // Set the model information for the manifest.
  OpBuilder builder(&context);
  SmallVector<NamedAttribute> extra = {
      builder.getNamedAttr("head", builder.getStringAttr(graph.head()))};
  if (std::optional<int64_t> longest =
          source ? source->longest() : graph.longest())
    extra.push_back(builder.getNamedAttr("max_length",
                                         builder.getI64IntegerAttr(*longest)));
  SmallVector<StringRef> labels(file.labels.begin(), file.labels.end());
  extra.push_back(
      builder.getNamedAttr("labels", builder.getStrArrayAttr(labels)));
  emit.finish(info, getSymbols(file), extra);
  return emit.take();
}
