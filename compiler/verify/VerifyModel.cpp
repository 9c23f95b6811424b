// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles the model twice: first for the stage texts, from which the keys are
// derived, then with checks.
#include "compiler/verify/VerifyModel.h"
#include "compiler/driver/CompileModule.h"
#include "compiler/import/Import.h"
#include "compiler/options/ModuleOptions.h"
#include "compiler/stages/ModuleText.h"
#include "compiler/verify/CheckStages.h"
#include "compiler/verify/CutLayers.h"
#include "compiler/verify/SameStructure.h"
#include "compiler/verify/ShrinkModule.h"
#include "compiler/verify/VerifyingObserver.h"
#include "dialects/kern/KBlockLimits.h"
#include "dialects/kern/Kern.h"
#include "runtime/base/File.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Sha256.h"
#include "llvm/Support/FileSystem.h"
#include <unistd.h>

using namespace mlir;
using namespace transom;

namespace {

/// Checks one imported model.
class ModelVerifier {
public:
  ModelVerifier(const ImportInfo &info, const CompileOptions &recorded,
                const VerifyOptions &options)
      : info(info), options(options), compileOptions(recorded),
        shapes(info.tensorShapes), source(shapes) {
    // Disables all output.
    compileOptions.printAfter.clear();
    compileOptions.printChanged = compileOptions.timePasses = false;
    compileOptions.progress = nullptr;
  }

  Result<Certificate> run(OwningOpRef<ModuleOp> module);

private:
  void describe();
  Result<void> compile(ModuleOp module, CompileObserver &observer);
  Result<void> shrink(OwningOpRef<ModuleOp> &module);
  Result<std::string> compareStructure(const ShrunkModel &shrunk,
                                       const StageRecorder &whole);
  void take(ShrunkModel shrunk, OwningOpRef<ModuleOp> &module);
  std::set<int64_t> getGroups(MLIRContext *context) const;
  Result<void> runModule(ModuleOp module);
  VerifyEstimate estimate(ModuleOp module, const StageRecorder &recorder,
                          bool allAfterEachPass) const;
  Result<void> checkMemory(ModuleOp module,
                           const StageRecorder &recorder) const;
  Result<void> check(ModuleOp module, const StageRecorder &recorder,
                     bool allAfterEachPass, bool &isUnnamed);
  Result<void> addCheck(ModuleOp module, CallLengths lengths,
                        bool afterEachPass);
  Result<void> compareStages(const StageTexts &texts) const;
  Result<void> writeStages(const StageTexts &texts) const;

  const ImportInfo &info;
  const VerifyOptions &options;
  CompileOptions compileOptions;
  TensorShapes::Map shapes; ///< for the model that runs
  SizeMap sizes;            ///< for the model that runs, if it is smaller
  const TensorShapes source;
  Certificate certificate;
  std::vector<std::unique_ptr<CallCheck>> checks;
};

} // namespace

void ModelVerifier::describe() {
  certificate.transom = TRANSOM_VERSION;
  certificate.model = info.name;
  certificate.dtype = compileOptions.dtype;
  certificate.kvDtype = getCacheType(compileOptions);
  certificate.quantize = compileOptions.quantize;
  certificate.backend = compileOptions.backend;
  certificate.options = compileOptions.flags;
  certificate.disabledPasses = compileOptions.disabledPasses;
  certificate.lanes = options.lanes;
}

Result<void> ModelVerifier::compile(ModuleOp module,
                                    CompileObserver &observer) {
  ModuleSource tensors;
  tensors.tensors = &source;
  std::optional<kern::ScaledKBlocks> limits;
  if (!sizes.isIdentity())
    limits.emplace([this](int64_t limit) { return sizes.getLimit(limit); });
  Result<CompileReport> report =
      compileModule(OwningOpRef<ModuleOp>(module.clone()), tensors,
                    compileOptions, &observer);
  return report ? Result<void>() : report.takeError();
}

//===----------------------------------------------------------------------===//
// Widths
//===----------------------------------------------------------------------===//

/// Models with less work run at their original widths.
static constexpr WeightWork smallWork = {uint64_t(8) << 20, uint64_t(48) << 20};
/// A shrunk model with at most this many products per token is not shrunk
/// further.
static constexpr uint64_t shortProducts = uint64_t(24) << 20;

/// Quantization group sizes in the compile options.
std::set<int64_t> ModelVerifier::getGroups(MLIRContext *context) const {
  OwningOpRef<ModuleOp> empty(ModuleOp::create(UnknownLoc::get(context)));
  setModuleOptions(*empty, compileOptions);
  std::set<int64_t> groups;
  for (NamedAttribute attribute : (*empty)->getAttrs())
    if (auto format = dyn_cast<kern::OperandFormatAttr>(attribute.getValue()))
      if (format.getStorage().group > 0)
        groups.insert(format.getStorage().group);
  return groups;
}

/// The first difference between the stages in the shrunk and the original
/// model.
Result<std::string>
ModelVerifier::compareStructure(const ShrunkModel &shrunk,
                                const StageRecorder &whole) {
  TensorShapes::Map original = std::exchange(shapes, shrunk.shapes);
  sizes = shrunk.sizes;
  StageRecorder recorder;
  Result<void> compiled = compile(*shrunk.module, recorder);
  shapes = std::move(original);
  sizes = {};
  TRANSOM_TRY(std::move(compiled));
  return findStructureDifference(whole.structure, recorder.structure);
}

/// Switches to the shrunk model.
void ModelVerifier::take(ShrunkModel shrunk, OwningOpRef<ModuleOp> &module) {
  module = std::move(shrunk.module);
  shapes = std::move(shrunk.shapes);
  sizes = std::move(shrunk.sizes);
  for (auto [size, run] : sizes.getChanged()) {
    auto name = shrunk.names.find(size);
    certificate.widths.push_back(
        {name == shrunk.names.end() ? "size" : name->second, size, run});
  }
}

/// Rules in the order to try, from strict to relaxed.
static std::vector<SizeRules> getRules() {
  std::vector<SizeRules> all;
  for (bool keepsGroupRemainders : {true, false})
    for (bool keepsOrder : {true, false})
      for (bool keepsDifferent : {true, false})
        for (int64_t headPeriod : {4, 2}) {
          SizeRules rules;
          rules.keepsGroupRemainders = keepsGroupRemainders;
          rules.keepsOrder = keepsOrder;
          rules.keepsDifferent = keepsDifferent;
          rules.headPeriod = headPeriod;
          // Ordered sizes are always different.
          if (keepsDifferent || !keepsOrder)
            all.push_back(rules);
        }
  return all;
}

/// Replaces a large module by one with smaller widths, if possible with the
/// same structure after all passes and a short check.
Result<void> ModelVerifier::shrink(OwningOpRef<ModuleOp> &module) {
  const WeightWork work = countWeightWork(*module);
  if (work.products <= smallWork.products &&
      work.elements <= smallWork.elements)
    return {};
  StageRecorder whole;
  TRANSOM_TRY(compile(*module, whole));
  const std::set<int64_t> groups = getGroups(module->getContext());
  std::optional<ShrunkModel> best;
  uint64_t bestProducts = 0;
  bool isBestSame = false;
  for (const SizeRules &rules : getRules()) {
    Result<ShrunkModel> shrunk =
        shrinkModule(*module, info.tensorShapes, groups, rules);
    Result<std::string> difference =
        shrunk ? compareStructure(*shrunk, whole)
               : Result<std::string>(shrunk.takeError());
    if (!difference) {
      if (certificate.whyFullWidths.empty())
        certificate.whyFullWidths = difference.error().message;
      continue;
    }
    const uint64_t products = countWeightWork(*shrunk->module).products;
    // Relaxed rules are used for an equal structure, or for a shorter check.
    const bool isSame = difference->empty();
    if (!best || isSame > isBestSame ||
        (isSame == isBestSame && bestProducts > shortProducts &&
         products < bestProducts)) {
      best = std::move(*shrunk);
      bestProducts = products;
      isBestSame = isSame;
      certificate.otherStructure = *difference;
    }
    if (isSame && products <= shortProducts)
      break;
  }
  if (!best)
    return {};
  certificate.whyFullWidths.clear();
  take(std::move(*best), module);
  return {};
}

Result<void> ModelVerifier::addCheck(ModuleOp module, CallLengths lengths,
                                     bool afterEachPass) {
  TRANSOM_ASSIGN(std::vector<VerifyCase> cases, makeCalls(module, lengths));
  std::vector<std::string> &texts =
      lengths == CallLengths::Short ? certificate.calls : certificate.endCalls;
  texts.clear();
  for (const VerifyCase &test : cases)
    for (const VerifyCall &call : test)
      texts.push_back(call.str());
  PassVerifierOptions own;
  own.source = &source;
  own.keyText = certificate.key;
  own.numLanes = static_cast<int>(options.lanes);
  checks.push_back(
      std::make_unique<CallCheck>(own, std::move(cases), afterEachPass));
  return {};
}

/// Estimates time and memory from measurements: the evaluator multiplies each
/// weight with about 11 rows, hashes it once per call, and stores one word per
/// element, also for derived elements.
VerifyEstimate ModelVerifier::estimate(ModuleOp module,
                                       const StageRecorder &recorder,
                                       bool allAfterEachPass) const {
  constexpr double secondsOfProduct = 6e-8;
  constexpr uint64_t baseBytes = uint64_t(200) << 20, bytesOfElement = 24,
                     bytesOfRounded = 8;
  const WeightWork work = countWeightWork(module);
  const bool isTwice = certificate.rounds();
  VerifyEstimate estimate;
  // The imported module, each change, and the calls after all passes.
  estimate.evaluations = allAfterEachPass ? 2 * (1 + recorder.numChanges)
                                          : 3 + recorder.numChanges;
  estimate.seconds = secondsOfProduct * options.lanes * (isTwice ? 1.5 : 1) *
                     static_cast<double>(work.products) *
                     static_cast<double>(estimate.evaluations);
  estimate.bytes =
      baseBytes + work.elements * (isTwice ? bytesOfElement + bytesOfRounded
                                           : bytesOfElement);
  return estimate;
}

/// Rejects a check that exceeds the memory limit.
Result<void> ModelVerifier::checkMemory(ModuleOp module,
                                        const StageRecorder &recorder) const {
  const uint64_t machine = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                           static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t limit = options.memLimit ? options.memLimit : machine;
  const uint64_t needed = estimate(module, recorder, false).bytes;
  if (needed <= limit)
    return {};
  return limitError(
      "the check takes about " + std::to_string(needed) + " bytes, over " +
      (options.memLimit ? "'--mem-limit' of " : "this machine's memory of ") +
      std::to_string(limit) +
      (options.full ? "; without '--full' it takes less" : ""));
}

/// Compiles with checks. `isUnnamed`: the difference has no pass yet.
Result<void> ModelVerifier::check(ModuleOp module,
                                  const StageRecorder &recorder,
                                  bool allAfterEachPass, bool &isUnnamed) {
  checks.clear();
  certificate.passes.clear();
  certificate.stages.clear();
  certificate.difference.reset();
  TRANSOM_TRY(addCheck(module, CallLengths::Short, true));
  TRANSOM_TRY(addCheck(module, CallLengths::Panel, allAfterEachPass));
  EvaluationCounter counter(options,
                            estimate(module, recorder, allAfterEachPass));
  TRANSOM_TRY(counter.begin());
  VerifyingObserver observer(checks, compileOptions, certificate, counter);
  TRANSOM_TRY(compile(module, observer));
  TRANSOM_TRY(std::move(observer.status));
  isUnnamed = observer.isUnnamed;
  certificate.equalConstants =
      checks.front()->erased.getDomain().getEqualConstants();
  return {};
}

/// The checked stages must be identical to the stages in the key.
Result<void> ModelVerifier::compareStages(const StageTexts &texts) const {
  for (const auto &[stage, certified] :
       llvm::zip_equal(texts, certificate.stages))
    if (Sha256::getHex(stage.second) != certified.sha256)
      return internalError("two compiles of '" + info.name +
                           "' give different modules at stage '" +
                           certified.stage + "'");
  return {};
}

Result<void> ModelVerifier::writeStages(const StageTexts &texts) const {
  if (options.stagesFolder.empty())
    return {};
  const std::string &folder = options.stagesFolder;
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return systemError("cannot create the folder", folder, error.value());
  OutputSet outputs;
  for (const auto &[stage, text] : texts) {
    TRANSOM_ASSIGN(OutputFile * file,
                   outputs.create(joinPath(
                       folder, getCheckedStageFile(getStageInfo(stage).name))));
    TRANSOM_TRY(file->append(text));
  }
  TRANSOM_ASSIGN(OutputFile * file,
                 outputs.create(joinPath(folder, certificateFile), {},
                                OutputSet::Order::Result));
  TRANSOM_TRY(file->append(certificate.toJson()));
  return outputs.commit();
}

/// Compiles and checks the module.
Result<void> ModelVerifier::runModule(ModuleOp module) {
  StageRecorder recorder;
  TRANSOM_TRY(compile(module, recorder));
  TRANSOM_TRY(checkMemory(module, recorder));
  std::vector<std::string> texts;
  for (const auto &[stage, text] : recorder.texts)
    texts.push_back(text);
  certificate.key = deriveKey(certificate.transom, texts);
  bool isUnnamed = false;
  TRANSOM_TRY(check(module, recorder, false, isUnnamed));
  if (isUnnamed)
    TRANSOM_TRY(check(module, recorder, true, isUnnamed));
  TRANSOM_TRY(compareStages(recorder.texts));
  certificate.tensors = shapes;
  return writeStages(recorder.texts);
}

Result<Certificate> ModelVerifier::run(OwningOpRef<ModuleOp> module) {
  describe();
  if (options.full) {
    TRANSOM_TRY(runModule(*module));
    return std::move(certificate);
  }
  certificate.layers = cutLayers(*module);
  OwningOpRef<ModuleOp> whole(module->clone());
  TRANSOM_TRY(shrink(module));
  Result<void> done = runModule(*module);
  const bool canRunWhole = !certificate.isAtFullWidths() && !done &&
                           (done.error().status == Status::Rejected ||
                            done.error().status == Status::Unsupported);
  if (canRunWhole) {
    certificate.whyFullWidths = done.takeError().message;
    certificate.widths.clear();
    certificate.otherStructure.clear();
    shapes = info.tensorShapes;
    sizes = {};
    done = runModule(*whole);
  }
  TRANSOM_TRY(std::move(done));
  return std::move(certificate);
}

Result<Certificate> transom::verifyModel(const VerifyOptions &options) {
  std::optional<Certificate> certificate;
  TRANSOM_TRY(withImportedModel(
      options.compile,
      [&](OwningOpRef<ModuleOp> module, const ImportInfo &info,
          const CompileOptions &recorded) -> Result<void> {
        ModelVerifier verifier(info, recorded, options);
        TRANSOM_ASSIGN(certificate, verifier.run(std::move(module)));
        return {};
      }));
  return std::move(*certificate);
}
