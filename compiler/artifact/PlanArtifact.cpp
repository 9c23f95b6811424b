// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads tables and manifest from the attributes and operations in a planned
// kern module.
#include "compiler/artifact/PlanArtifact.h"
#include "compiler/artifact/PhaseCost.h"
#include "compiler/artifact/PlanCalls.h"
#include "compiler/artifact/PlanDecoder.h"
#include "dialects/common/Attributes.h"
#include "dialects/common/Location.h"
#include "dialects/kern/PhaseLocation.h"
#include "dialects/kern/SizeBounds.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <map>
#include <set>

using namespace mlir;
using namespace transom;

static std::string getText(DictionaryAttr info, StringRef key) {
  auto text = info ? info.getAs<StringAttr>(key) : StringAttr();
  return text ? text.getValue().str() : "";
}

static std::vector<std::string> getTexts(DictionaryAttr info, StringRef key) {
  std::vector<std::string> texts;
  if (auto list = info ? info.getAs<ArrayAttr>(key) : ArrayAttr())
    for (Attribute text : list)
      texts.push_back(cast<StringAttr>(text).getValue().str());
  return texts;
}

static Polynomial parseSize(Attribute text) {
  Result<Polynomial> parsed =
      Polynomial::parse(cast<StringAttr>(text).getValue().str());
  return parsed ? *parsed : Polynomial();
}

static DType getDType(Type element) {
  if (element.isInteger(64))
    return DType::I64;
  return element.isInteger(1) ? DType::Bool : DType::F32;
}

namespace {

/// Collects one module's plan.
class ArtifactPlanner {
public:
  explicit ArtifactPlanner(ModuleOp module)
      : module(module), symbols(module), bounds(module),
        info(module->getAttrOfType<DictionaryAttr>("attn.info")) {}

  Result<ArtifactPlan> plan() {
    planPhases();
    TRANSOM_TRY(planWeights());
    planModel();
    for (auto function : module.getOps<func::FuncOp>())
      if (function.isPublic())
        planEntry(function);
    TRANSOM_TRY(addDecoder());
    return std::move(result);
  }

private:
  void planPhases() {
    module.walk([&](kern::PhaseOp phase) {
      if (phase.getCall())
        return;
      phaseIndex[phase] = result.phases.size();
      result.phases.push_back({phase.getName().str(),
                               getModulePath(kern::getPhaseLocation(phase))});
    });
  }

  Result<void> planWeights() {
    for (auto weight : module.getOps<kern::WeightOp>()) {
      kern::WeightType type = weight.getType();
      if (type.getLayout() == WeightLayout::Unset)
        return internalError("weight '" + weight.getSymName().str() +
                             "' has no layout");
      ArtifactWeight entry;
      entry.symbol = weight.getSymName().str();
      entry.expression = weight.getExpr().str();
      entry.layout = type.getLayout();
      entry.offset = weight.getOffset().value_or(0);
      entry.bytes = type.getByteSize();
      entry.shape = type.getShape().vec();
      entry.splits = type.getSplits().vec();
      entry.format = type.getFormat().getStorage();
      result.weights.push_back(std::move(entry));
    }
    if (auto bytes = module->getAttrOfType<IntegerAttr>("kern.weight_bytes"))
      result.weightBytes = bytes.getInt();
    result.manifest.weightsBytes = result.weightBytes;
    return {};
  }

  void planModel() {
    Manifest &manifest = result.manifest;
    if (auto name = module->getAttrOfType<StringAttr>("attn.name"))
      manifest.name = name.getValue().str();
    if (auto backend = module->getAttrOfType<StringAttr>("transom.backend"))
      manifest.backend = backend.getValue().str();
    manifest.family = getText(info, "family");
    manifest.architecture = getText(info, "architecture");
    if (std::string head = getText(info, "head"); !head.empty())
      manifest.head = head;
    manifest.labels = getTexts(info, "labels");
    if (std::string problem = getText(info, "problem_type"); !problem.empty())
      manifest.problemType = problem;
    if (std::string text = getText(info, "score_activation"); !text.empty())
      manifest.scoreActivation = text;
    manifest.notes = getTexts(info, "notes");
    manifest.parameters = getInteger(info, "parameters").value_or(0);
    if (auto declared = module->getAttrOfType<DictionaryAttr>("attn.symbols"))
      for (NamedAttribute symbol : declared) {
        std::optional<int64_t> max =
            getInteger(cast<DictionaryAttr>(symbol.getValue()), "max");
        manifest.symbols.push_back(
            {symbol.getName().str(), max && *max >= 0 ? max : std::nullopt});
      }
  }

  /// Returns the `transom.kind` attribute if present. Otherwise an entry on
  /// sequences is a step, and an entry with token ids is an encoder.
  static EntryKind getKind(func::FuncOp function, const ManifestEntry &entry) {
    if (auto kind = function->getAttrOfType<StringAttr>("transom.kind"))
      for (EntryKind known :
           {EntryKind::Run, EntryKind::Encode, EntryKind::Embed,
            EntryKind::Rerank, EntryKind::Source})
        if (kind == getEntryKindName(known))
          return known;
    if (llvm::any_of(entry.ragged, [](const ManifestRaggedBatch &ragged) {
          return ragged.sequences;
        }))
      return EntryKind::Step;
    return llvm::any_of(
               entry.inputs,
               [](const ManifestTensor &input) { return input.role == "ids"; })
               ? EntryKind::Encode
               : EntryKind::Run;
  }

  void planEntry(func::FuncOp function) {
    ManifestEntry entry;
    entry.name = function.getSymName().str();
    int64_t inputs =
        function->getAttrOfType<IntegerAttr>("kern.inputs").getInt();
    for (int64_t i = 0; i < function.getNumArguments(); ++i)
      (i < inputs ? entry.inputs : entry.outputs)
          .push_back(getTensor(function, i));
    planRaggedBatches(function, entry);
    entry.kind = getKind(function, entry);
    if (entry.kind == EntryKind::Step)
      step = function;
    if (entry.kind == EntryKind::Source)
      source = function;
    entry.positionLimit = positionLimit(entry);
    for (Attribute symbol : function->getAttrOfType<ArrayAttr>("kern.symbols"))
      entry.symbolOrder.push_back(cast<StringAttr>(symbol).getValue().str());
    for (const auto &[name, bound] : bounds.getBounds())
      if (llvm::is_contained(entry.symbolOrder, name))
        entry.boundedSizes.push_back({name, bound});
    entry.arenaBytes = parseSize(function->getAttr("kern.arena_bytes"));
    entry.arenaLowerBound =
        parseSize(function->getAttr("kern.arena_lower_bound"));
    for (Attribute attribute :
         function->getAttrOfType<ArrayAttr>("kern.buffers")) {
      auto buffer = cast<DictionaryAttr>(attribute);
      const Polynomial bytes = parseSize(buffer.get("bytes"));
      const bool isKept = buffer.contains("kept");
      entry.buffers.push_back(
          {isKept ? Polynomial() : parseSize(buffer.get("offset")), bytes,
           getText(buffer, "location"), isKept});
      if (!isKept)
        continue;
      // The end of the arena.
      entry.arenaBytes = entry.arenaBytes - bytes;
      entry.arenaLowerBound = entry.arenaLowerBound - bytes;
    }
    if (auto counters = function->getAttrOfType<IntegerAttr>("kern.counters"))
      entry.counters = counters.getInt();
    ArtifactEntry code{entry.name, {}};
    streamed.clear();
    entry.streamedBytes = 0;
    planSteps(function, -1, code, entry);
    result.entries.push_back(std::move(code));
    result.manifest.entries.push_back(std::move(entry));
  }

  /// Plans the tables for the entry's ragged batches, in index order.
  void planRaggedBatches(func::FuncOp function, ManifestEntry &entry) {
    std::map<int64_t, ManifestRaggedBatch> tables;
    for (auto ragged : function.getOps<kern::RaggedBatchOp>())
      tables[ragged.getType().getIndex()] = getRaggedBatch(ragged, entry);
    std::string rows;
    for (auto sequences : function.getOps<kern::DecodeBatchOp>()) {
      ManifestRaggedBatch &ragged = tables[sequences.getType().getIndex()];
      ragged.sequences = true;
      ragged.rows = rows = sequences.getRows().str();
      ragged.keys = sequences.getKeys().str();
    }
    for (auto keys : function.getOps<kern::CacheBatchOp>())
      tables[keys.getType().getIndex()] = getCacheBatch(keys, rows);
    for (auto &[index, ragged] : tables)
      entry.ragged.push_back(std::move(ragged));
  }

  /// Describes the decoder, and adds the entries that are derived from its
  /// step.
  Result<void> addDecoder() {
    if (!step)
      return {};
    TRANSOM_ASSIGN(ManifestDecoder decoder, planDecoder(module, step, source));
    result.manifest.decoder = std::move(decoder);
    for (ManifestEntry &entry : getDerivedEntries(result.manifest))
      result.manifest.entries.push_back(std::move(entry));
    return {};
  }

  ManifestTensor getTensor(func::FuncOp function, int64_t index) {
    auto type = cast<kern::BufferType>(function.getArgument(index).getType());
    DictionaryAttr attrs = function.getArgAttrDict(index);
    ManifestTensor tensor;
    tensor.name = getText(attrs, "attn.name");
    tensor.dtype = getDType(type.getElementType());
    if (std::string declared = getText(attrs, "attn.dtype"); !declared.empty())
      if (std::optional<DType> dtype = dtypeFromName(declared))
        tensor.dtype = *dtype;
    for (const Polynomial &dim : type.getDims())
      tensor.shape.push_back(dim);
    tensor.role = getText(attrs, "attn.role");
    tensor.bound = getInteger(attrs, "attn.bound");
    tensor.fallback = getInteger(attrs, "attn.default");
    return tensor;
  }

  ManifestRaggedBatch getRaggedBatch(kern::RaggedBatchOp op,
                                     const ManifestEntry &entry) {
    ManifestRaggedBatch ragged;
    if (op.getMask()) {
      ragged.mask =
          entry.inputs[cast<BlockArgument>(op.getMask()).getArgNumber()].name;
      ragged.columnsOf = ragged.mask;
      ragged.pairs = kern::pairsName(op.getRows());
    }
    ragged.keepFirst = op.getKeepFirst();
    ragged.batch = op.getBatch().str();
    ragged.columns = op.getColumns().str();
    ragged.rows = op.getRows().str();
    ragged.keys = op.getKeys().str();
    return ragged;
  }

  /// Returns the keys in a read-only cache group, for the sequences in a step
  /// whose tokens `rows` counts.
  ManifestRaggedBatch getCacheBatch(kern::CacheBatchOp op,
                                    const std::string &rows) {
    ManifestRaggedBatch ragged;
    ragged.sequences = true;
    ragged.cacheGroup =
        symbols.lookup<kern::CacheOp>(op.getCache()).getGroup().value_or(0);
    ragged.rows = rows;
    ragged.keys = op.getKeys().str();
    return ragged;
  }

  std::optional<ManifestPositionLimit>
  positionLimit(const ManifestEntry &entry) {
    auto limit =
        info ? info.getAs<DictionaryAttr>("position_limit") : DictionaryAttr();
    std::string input = getText(limit, "input");
    for (const ManifestTensor &tensor : entry.inputs)
      if (limit && tensor.name == input)
        return ManifestPositionLimit{input, getText(limit, "rule"),
                                     getInteger(limit, "pad").value_or(0),
                                     getInteger(limit, "max").value_or(0)};
    return std::nullopt;
  }

  /// Plans the steps in a function; layers run their body's steps row by row.
  void planSteps(func::FuncOp function, int64_t row, ArtifactEntry &code,
                 ManifestEntry &entry) {
    for (Operation &op : function.getBody().front()) {
      if (auto phase = dyn_cast<kern::PhaseOp>(op)) {
        ArtifactStep step{getDispatch(phase, entry), int32_t(row)};
        if (std::optional<int64_t> ranges = phase.getHeadRanges()) {
          auto attention =
              cast<kern::AttentionOp>(phase.getBody().front().front());
          step.headRanges = int32_t(*ranges);
          step.raggedBatch =
              int32_t(attention.getQueryRagged().getType().getIndex());
        }
        code.steps.push_back(step);
        describe(phase, entry);
      } else if (auto layers = dyn_cast<kern::LayersOp>(op)) {
        planLayers(layers, code, entry);
      }
    }
  }

  void planLayers(kern::LayersOp layers, ArtifactEntry &code,
                  ManifestEntry &entry) {
    size_t longest = 0;
    site = layers;
    for (kern::LayerAttr layer : layers.getLayerRange()) {
      planLayer(layers, layer, code, entry);
      // Reserve one entry more than the layer has parameters.
      longest = std::max(longest, layer.getParameters().size() + 1);
    }
    site = {};
    // The last layer also reads the row after its own, for prefetching.
    result.rows.resize(result.rows.size() + longest);
  }

  /// Returns a phase's index in a step, negative for a phase run by a library.
  int32_t getDispatch(kern::PhaseOp phase, ManifestEntry &entry) {
    kern::OneDnnOp call = phase.getCall();
    if (!call)
      return int32_t(phaseIndex[phase]);
    auto [known, isNew] = callStep.try_emplace(phase, 0);
    if (isNew) {
      known->second = -1 - int32_t(entry.calls.size());
      entry.calls.push_back(planCall(call, site, symbols));
    }
    return known->second;
  }

  /// Returns a weight's offset in the artifact, or the offset for a layer's
  /// cache in a block.
  int64_t getOffset(StringRef symbol) {
    if (auto cache = symbols.lookup<kern::CacheOp>(symbol))
      return cache.getOffset().value_or(0);
    return symbols.lookup<kern::WeightOp>(symbol).getOffset().value_or(0);
  }

  void planLayer(kern::LayersOp layers, kern::LayerAttr layer,
                 ArtifactEntry &code, ManifestEntry &entry) {
    int64_t first = result.rows.size();
    for (FlatSymbolRefAttr parameter : layer.getParameters())
      result.rows.push_back(getOffset(parameter.getValue()));
    currentLayer = layer;
    planSteps(layers.getBody(layer, symbols), first, code, entry);
    currentLayer = {};
  }

  /// Adds a phase to the manifest once, with its row count and its cost per
  /// row.
  void describe(kern::PhaseOp phase, ManifestEntry &entry) {
    // Add its cost to the entry; bounded sizes are replaced by their bounds.
    PhaseCost cost = getCost(phase);
    for (Polynomial *size :
         {&cost.flops, &cost.bf16Flops, &cost.int8Flops, &cost.bytes})
      *size = bounds.getBound(*size);
    entry.flops = entry.flops + cost.flops;
    entry.bf16Flops = entry.bf16Flops + cost.bf16Flops;
    entry.int8Flops = entry.int8Flops + cost.int8Flops;
    int64_t weightBytes = 0;
    for (Value weight : cost.weights) {
      const int64_t bytes =
          cast<kern::WeightType>(weight.getType()).getByteSize();
      weightBytes += bytes;
      if (streamed.insert(getSymbol(weight)).second)
        *entry.streamedBytes += bytes;
    }
    // A phase that is already known gets one more row.
    auto known = std::find_if(entry.dispatches.begin(), entry.dispatches.end(),
                              [&](const ManifestDispatch &step) {
                                return step.phase == phase.getName();
                              });
    entry.dispatchOrder.push_back(known - entry.dispatches.begin());
    if (known != entry.dispatches.end()) {
      ++known->rows;
      return;
    }
    // Add a new phase.
    std::string schedule;
    for (auto op : phase.getBody().front().getOps<kern::AttentionOp>())
      schedule = op.getSchedule().str();
    const Location location = kern::getPhaseLocation(phase);
    Origin origin = findOrigin(location);
    entry.dispatches.push_back(
        {phase.getName().str(), getModulePath(location), 1, cost.flops,
         cost.bf16Flops, cost.int8Flops, weightBytes, cost.bytes, schedule,
         static_cast<int64_t>(phase.getHeadRanges().value_or(0)),
         std::move(origin.file), std::move(origin.pointer)});
  }

  /// Returns a weight's symbol; in a layer body, the symbol for the current
  /// layer.
  StringRef getSymbol(Value weight) {
    if (auto get = weight.getDefiningOp<kern::GetWeightOp>())
      return get.getWeight();
    return site.getParameter(currentLayer, weight).getValue();
  }

  ModuleOp module;
  SymbolTable symbols;
  kern::SizeBounds bounds;
  DictionaryAttr info;
  ArtifactPlan result;
  DenseMap<Operation *, size_t> phaseIndex;
  DenseMap<Operation *, int32_t> callStep;
  func::FuncOp step;            // the entry on sequences
  func::FuncOp source;          // the entry that fills read-only caches
  kern::LayersOp site;          // layers whose body is being planned
  kern::LayerAttr currentLayer; // the layer being planned
  std::set<StringRef> streamed; // weights that the entry reads as a whole
};

} // namespace

Result<ArtifactPlan> transom::planArtifact(ModuleOp module) {
  return ArtifactPlanner(module).plan();
}
