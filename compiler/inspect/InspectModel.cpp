// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes a model folder, a single config.json or a graph.json before
// compilation: entries and their cost, used and unused tensors, unknown keys.
#include "compiler/artifact/PlanArtifact.h"
#include "compiler/driver/CompileModule.h"
#include "compiler/driver/CompileObserver.h"
#include "compiler/import/Import.h"
#include "compiler/inspect/Inspection.h"
#include "compiler/inspect/ReadGraph.h"
#include "compiler/statistics/ModelCost.h"
#include "compiler/statistics/ModelFormulas.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/json/Json.h"

using namespace mlir;
using namespace transom;

namespace {

/// An argument or result in an entry.
struct TensorLine {
  std::string name, type;
};

/// An entry in the module.
struct EntryLines {
  std::string name;
  std::vector<TensorLine> inputs, outputs;
  Polynomial flops;
};

} // namespace

/// Formats `tensor<...>` without dialect syntax: `f32 [batch, seq, 768]`.
static std::string typeText(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return "unknown";
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << tensor.getElementType() << " [";
  llvm::interleaveComma(attn::getSymbolicShape(tensor), stream,
                        [&](const Polynomial &d) { stream << d.str(); });
  stream << "]";
  return stream.str();
}

static std::string getName(DictionaryAttr attributes) {
  auto name =
      attributes ? attributes.getAs<StringAttr>("attn.name") : StringAttr();
  return name ? name.getValue().str() : "";
}

static std::vector<EntryLines> getEntries(ModuleOp module) {
  std::vector<EntryLines> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPublic())
      continue;
    EntryLines entry{function.getSymName().str(), {}, {}, getFlops(function)};
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      entry.inputs.push_back({getName(function.getArgAttrDict(i)),
                              typeText(function.getArgument(i).getType())});
    Operation *end = function.getBody().back().getTerminator();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      entry.outputs.push_back({getName(function.getResultAttrDict(i)),
                               typeText(end->getOperand(i).getType())});
    entries.push_back(std::move(entry));
  }
  return entries;
}

static std::string getText(const ImportInfo &info,
                           const std::vector<EntryLines> &entries,
                           const ModelFigures &figures,
                           const std::optional<DecoderReport> &decoder) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << info.name << ": " << info.architecture << " (" << info.family << ")\n"
      << "parameters  " << info.parameters << "\n";
  for (const auto &[dtype, count] : info.dtypes)
    out << "tensors     " << count << " of " << dtype << "\n";
  if (decoder)
    decoder->addText(out);
  figures.parameters.addText(text);
  figures.formulas.addText(text);
  for (const EntryLines &entry : entries) {
    out << "\nentry " << entry.name << "\n";
    for (const TensorLine &line : entry.inputs)
      out << "  in   " << line.name << "  " << line.type << "\n";
    for (const TensorLine &line : entry.outputs)
      out << "  out  " << line.name << "  " << line.type << "\n";
    out << "  flops  " << entry.flops.str() << "\n";
  }
  if (!info.unusedTensors.empty())
    out << "\nnot used: " << llvm::join(info.unusedTensors, ", ") << "\n";
  for (const std::string &note : info.notes)
    out << "note: " << note << "\n";
  return out.str();
}

static void writeLines(JsonWriter &json, const char *key,
                       const std::vector<TensorLine> &lines) {
  json.key(key);
  json.beginArray();
  for (const TensorLine &line : lines) {
    json.beginObject();
    json.member("name", line.name);
    json.member("type", line.type);
    json.endObject();
  }
  json.endArray();
}

static std::string toJson(const ImportInfo &info,
                          const std::vector<EntryLines> &entries,
                          const ModelFigures &figures,
                          const std::optional<DecoderReport> &decoder) {
  // The model and its parameters.
  std::string text;
  JsonWriter json(text, 2);
  json.beginObject();
  json.member("name", info.name);
  json.member("family", info.family);
  json.member("architecture", info.architecture);
  json.member("parameters", info.parameters);
  figures.writeJson(json);
  json.key("dtypes");
  json.beginObject();
  for (const auto &[dtype, count] : info.dtypes)
    json.member(dtype, count);
  json.endObject();
  // The entries.
  json.key("entries");
  json.beginArray();
  for (const EntryLines &entry : entries) {
    json.beginObject();
    json.member("name", entry.name);
    writeLines(json, "inputs", entry.inputs);
    writeLines(json, "outputs", entry.outputs);
    json.member("flops", entry.flops.str());
    json.endObject();
  }
  json.endArray();
  // Caches, files and notes.
  if (decoder)
    decoder->writeJson(json);
  json.key("files");
  json.array(info.inputFiles);
  json.key("unused_tensors");
  json.array(info.unusedTensors);
  json.key("notes");
  json.array(info.notes);
  json.endObject();
  return text + "\n";
}

namespace {

/// Stores the planned module's manifest.
class PlanObserver : public CompileObserver {
public:
  void imported(ModuleOp, const ImportInfo &, const CompileOptions &) override {
  }
  void passed(const transom::PassInfo &, ModuleOp,
              const InstructionSet *) override {}
  void finished(Stage stage, ModuleOp module) override {
    if (stage == Stage::Kern)
      plan = planArtifact(module);
  }

  std::optional<Result<ArtifactPlan>> plan;
};

} // namespace

/// Returns the manifest for the module's artifact.
static Result<Manifest> planModel(OwningOpRef<ModuleOp> module,
                                  CompileOptions options) {
  options.emit = Stage::Kern;
  options.output.clear();
  PlanObserver observer;
  TRANSOM_TRY(compileModule(std::move(module), {}, options, &observer));
  if (!observer.plan)
    return internalError("the passes left no plan");
  TRANSOM_ASSIGN(ArtifactPlan plan, std::move(*observer.plan));
  plan.manifest.dtype = options.dtype;
  return std::move(plan.manifest);
}

Result<Inspection> transom::inspectModel(const InspectOptions &options) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  prepareContext(context);
  ImportInfo info;
  ImportOptions import{options.model};
  import.configOnly = isConfigAlone(options.model);
  TRANSOM_ASSIGN(OwningOpRef<ModuleOp> module,
                 importModel(context, import, info));
  const std::vector<EntryLines> entries = getEntries(*module);
  const std::optional<DecoderReport> decoder = reportDecoder(*module);
  const ModelFigures figures = reportFigures(*module, info);
  Inspection result;
  result.json = toJson(info, entries, figures, decoder);
  result.text = getText(info, entries, figures, decoder);
  if (options.draws)
    result.graph = readGraph(*module, info.name);
  if (options.plans) {
    TRANSOM_ASSIGN(result.plan, planModel(std::move(module), options.compile));
  }
  return result;
}
