// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explaining a model means compiling it with an observer that records the
// modules.
#include "compiler/artifact/PlanArtifact.h"
#include "compiler/driver/CompileObserver.h"
#include "compiler/explain/ExampleCalls.h"
#include "compiler/explain/ExplainEntries.h"
#include "compiler/explain/ExplainKernels.h"
#include "compiler/explain/Explanation.h"
#include "compiler/explain/ModuleListing.h"
#include "compiler/explain/ModuleSummary.h"
#include "compiler/import/Import.h"
#include "compiler/pipeline/PassRange.h"
#include "compiler/stages/ModuleText.h"
#include "dialects/common/Location.h"
#include "passes/Remarks.h"
#include "runtime/base/InstructionSet.h"

using namespace mlir;
using namespace transom;

namespace {

/// Records the modules during a compile.
class ExplainingObserver : public CompileObserver {
public:
  explicit ExplainingObserver(const ExplainOptions &options)
      : options(options) {}

  void imported(ModuleOp module, const ImportInfo &info,
                const CompileOptions &recorded) override;
  void passed(const transom::PassInfo &pass, ModuleOp module,
              const InstructionSet *isa) override;
  void failed(const transom::PassInfo &pass, std::optional<Location> location,
              const InstructionSet *isa, const Error &error) override;
  void finished(Stage stage, ModuleOp module) override;

  /// Returns the explanation, after the compile.
  Result<Explanation> take(const CompileReport &report);
  /// Returns the explanation up to an error, or the error if the model was not
  /// imported.
  Result<Explanation> takeUntil(Error error);

private:
  void addRemarks(ModuleOp module, size_t known, ExplainedPass &pass);
  void evaluateEntries();

  const ExplainOptions &options;
  Explanation result;
  Manifest manifest;
  ModuleListing listing; ///< for the module after the last pass
  std::optional<OperationFingerPrint> fingerPrint; ///< for lowered code
  Result<void> status;                             ///< from planArtifact()
};

} // namespace

/// The first pass in the stage `llvm-ir`.
static constexpr llvm::StringLiteral conversion = "convert-kern-to-llvm";

/// Maps strings to indices in insertion order.
class StringTable {
public:
  explicit StringTable(std::vector<std::string> &strings) : strings(strings) {}

  int64_t getIndex(const std::string &text) {
    auto [known, isNew] =
        indices.try_emplace(text, static_cast<int64_t>(strings.size()));
    if (isNew)
      strings.push_back(text);
    return known->second;
  }

private:
  std::vector<std::string> &strings;
  llvm::StringMap<int64_t> indices;
};

static IrListing toIr(const ModuleListing &listing) {
  IrListing ir;
  ir.text = listing.text;
  StringTable names(ir.names), locations(ir.locations), origins(ir.origins);
  for (const ListedOperation &listed : listing.operations) {
    IrOperation &operation = ir.operations.emplace_back();
    operation.line = listed.line;
    operation.name = names.getIndex(listed.name);
    operation.location = locations.getIndex(listed.location);
    for (const std::string &origin : listed.origins)
      operation.origins.push_back(origins.getIndex(origin));
    operation.parent = listed.parent;
    operation.operands.assign(listed.operands.begin(), listed.operands.end());
  }
  return ir;
}

static std::string getText(DictionaryAttr info, StringRef key) {
  auto text = info ? info.getAs<StringAttr>(key) : StringAttr();
  return text ? text.getValue().str() : "";
}

/// Returns a pass's summary, in one line.
static std::string getSummary(const transom::PassInfo &info) {
  return info.create({})->getDescription().str();
}

static std::string getSummary(StringRef flag) {
  for (const transom::PassInfo &info : getPasses())
    if (info.flag == flag)
      return getSummary(info);
  return {};
}

void ExplainingObserver::imported(ModuleOp module, const ImportInfo &info,
                                  const CompileOptions &recorded) {
  auto attributes = module->getAttrOfType<DictionaryAttr>("attn.info");
  result.model = {info.name,
                  info.family,
                  info.architecture,
                  getText(attributes, "head"),
                  info.baseFile,
                  static_cast<int64_t>(info.parameters),
                  !isConfigAlone(options.compile.model)};
  result.compile.dtype = recorded.dtype;
  result.compile.backend = recorded.backend;
  for (const auto &[key, value] : recorded.flags)
    result.compile.options.push_back({key, value});
  for (const std::string &flag : recorded.disabledPasses)
    result.compile.disabledPasses.push_back({flag, getSummary(flag)});
  result.imported = summarizeModule(module);
}

/// Adds a module's remarks after the first `known` ones.
void ExplainingObserver::addRemarks(ModuleOp module, size_t known,
                                    ExplainedPass &pass) {
  std::vector<Remark> remarks = Remarks::readFrom(module);
  for (const Remark &remark : llvm::ArrayRef(remarks).drop_front(known)) {
    pass.remarks.push_back(static_cast<int64_t>(result.remarks.size()));
    ExplainedRemark &explained = result.remarks.emplace_back();
    explained.kind = getRemarkKindName(remark.kind).str();
    explained.category = remark.category;
    explained.name = remark.name;
    explained.function = remark.function;
    explained.place = {remark.location, remark.file, remark.pointer};
    for (const RemarkArgument &argument : remark.args)
      explained.args.push_back({argument.key, argument.value});
    explained.message = remark.getMessage();
    if (const RemarkInfo *info = findRemarkInfo(remark.category, remark.name))
      explained.help = info->help.str();
  }
}

void ExplainingObserver::passed(const transom::PassInfo &info, ModuleOp module,
                                const InstructionSet *isa) {
  const std::string isaName = isa ? isa->name : "";
  ExplainedPass pass;
  pass.stage = getStageInfo(info.stage).name;
  pass.pass = info.flag.str();
  pass.isa = isaName;
  pass.name = getPassName(info);
  pass.summary = getSummary(info);
  pass.after = summarizeModule(module);
  if (isa) {
    // Code in the LLVM dialect is long: comparing its text would take longer
    // than the passes.
    OperationFingerPrint after(module);
    pass.changed =
        info.flag == conversion || !fingerPrint || after != *fingerPrint;
    fingerPrint = after;
    if (info.flag == conversion) {
      llvm::append_range(result.kernels,
                         explainKernels(module, isaName, manifest));
      // Lowered code has remarks from lowering only.
      addRemarks(module, 0, pass);
    }
    result.passes.push_back(std::move(pass));
    return;
  }
  ModuleListing after = listModule(module);
  pass.changed = after.text != listing.text;
  if (options.ir && pass.changed)
    pass.ir = toIr(after);
  listing = std::move(after);
  addRemarks(module, result.remarks.size(), pass);
  // Extension points are passes too; they are omitted if they have no effect.
  if (pass.changed || !pass.remarks.empty() ||
      !info.flag.starts_with("extension-"))
    result.passes.push_back(std::move(pass));
}

/// The remark name for a failed pass; the remark text is the error.
static constexpr llvm::StringLiteral failureName = "pass-failed";

void ExplainingObserver::failed(const transom::PassInfo &info,
                                std::optional<Location> location,
                                const InstructionSet *isa, const Error &error) {
  result.failure.emplace();
  result.failure->pass = info.flag.str();
  result.failure->isa = isa ? isa->name : "";
  ExplainedPass pass;
  pass.stage = getStageInfo(info.stage).name;
  pass.pass = info.flag.str();
  pass.isa = result.failure->isa;
  pass.name = getPassName(info);
  pass.summary = getSummary(info);
  pass.after =
      result.passes.empty() ? result.imported : result.passes.back().after;
  pass.remarks.push_back(static_cast<int64_t>(result.remarks.size()));
  result.passes.push_back(std::move(pass));
  ExplainedRemark &remark = result.remarks.emplace_back();
  remark.kind = getRemarkKindName(RemarkKind::Failure).str();
  remark.category = info.flag.str();
  remark.name = failureName;
  remark.message = error.message;
  if (location && hasModulePath(*location)) {
    Origin origin = findOrigin(*location);
    remark.place = {getModulePath(*location), origin.file, origin.pointer};
  }
}

void ExplainingObserver::finished(Stage stage, ModuleOp module) {
  // The input of the first pass: the compile adds options to the imported
  // module.
  if (stage == Stage::Attn) {
    listing = listModule(module);
    if (options.ir)
      result.importedIr = toIr(listing);
  }
  // Instruction sets are lowered sequentially.
  if (stage == Stage::LlvmIr && options.ir) {
    Attribute remarks = module->removeAttr(Remarks::attributeName);
    result.code.push_back(
        {result.passes.back().isa, printForReading(module, false)});
    if (remarks)
      module->setAttr(Remarks::attributeName, remarks);
  }
  if (stage != Stage::Kern)
    return;
  Result<ArtifactPlan> plan = planArtifact(module);
  if (!plan) {
    status = plan.takeError();
    return;
  }
  manifest = std::move(plan->manifest);
  result.entries = explainEntries(module, manifest);
  result.weights = explainWeights(module);
  result.weightBytes = static_cast<int64_t>(plan->weightBytes);
}

void ExplainingObserver::evaluateEntries() {
  result.compile.transom = TRANSOM_VERSION;
  for (const ExplainedPass &pass : result.passes)
    if (!pass.isa.empty() && !llvm::is_contained(result.compile.isas, pass.isa))
      result.compile.isas.push_back(pass.isa);
  if (manifest.decoder && !manifest.decoder->caches.empty())
    result.compile.kvDtype =
        std::string(dtypeName(manifest.decoder->caches.front().dtype));
  for (ExplainedEntry &explained : result.entries) {
    const ManifestEntry &entry = *manifest.findEntry(explained.name);
    ExampleCalls calls(manifest, entry);
    calls.set(explained);
    auto setCosts = [&](ModuleSummary &summary) {
      for (EntryCost &cost : summary.entries)
        if (cost.entry == explained.name)
          calls.set(cost);
    };
    setCosts(result.imported);
    for (ExplainedPass &pass : result.passes)
      setCosts(pass.after);
  }
}

Result<Explanation> ExplainingObserver::take(const CompileReport &report) {
  if (!status)
    return takeUntil(status.takeError());
  result.notes = report.notes;
  evaluateEntries();
  return std::move(result);
}

Result<Explanation> ExplainingObserver::takeUntil(Error error) {
  if (result.imported.functions == 0)
    return error;
  if (!result.failure)
    result.failure.emplace();
  result.failure->status = static_cast<int64_t>(error.status);
  result.failure->message = std::move(error.message);
  result.failure->notes = std::move(error.notes);
  evaluateEntries();
  return std::move(result);
}

Result<Explanation> transom::explainModel(const ExplainOptions &options) {
  ExplainingObserver observer(options);
  Result<CompileReport> report = observeCompile(options.compile, observer);
  return report ? observer.take(*report)
                : observer.takeUntil(report.takeError());
}
