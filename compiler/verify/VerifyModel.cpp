// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model is compiled twice: first for the text of its stages, from which the
// keys are derived, then with checks.
#include "compiler/verify/VerifyModel.h"
#include "compiler/driver/CompileModule.h"
#include "compiler/driver/CompileObserver.h"
#include "compiler/driver/ModuleOptions.h"
#include "compiler/driver/ModuleText.h"
#include "compiler/import/Import.h"
#include "compiler/pipeline/Reproducer.h"
#include "compiler/verify/CheckStages.h"
#include "compiler/verify/CutLayers.h"
#include "compiler/verify/TensorShapes.h"
#include "compiler/verify/VerifyPasses.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Remarks.h"
#include "runtime/base/File.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Sha256.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace transom;

namespace {

/// The text of each stage.
using StageTexts = std::map<Stage, std::string>;

/// Keeps the texts of a compile.
class StageRecorder : public CompileObserver {
public:
  void passed(const transom::PassInfo &, ModuleOp,
              const InstructionSet *) override {}
  void finished(Stage stage, ModuleOp module) override {
    texts[stage] = printModule(module);
  }

  StageTexts texts;
};

/// Some calls of a model, compared after each pass or after all of them.
class CallCheck {
public:
  CallCheck(const PassVerifierOptions &options, std::vector<VerifyCase> cases,
            bool afterEachPass)
      : options(options), cases(cases), erased(options, std::move(cases)),
        afterEachPass(afterEachPass) {}

  Result<void> start(ModuleOp module) { return erased.start(module); }
  std::optional<VerifyDifference> check(ModuleOp module, StringRef pass,
                                        bool rounds);

  const PassVerifierOptions options;
  const std::vector<VerifyCase> cases;
  /// Roundings are nothing, and a function: from the pass on that inserts them.
  PassVerifier erased;
  std::optional<PassVerifier> opaque;
  const bool afterEachPass;
  Result<void> status;
};

/// Compares the modules of a compile.
class VerifyingObserver : public CompileObserver {
public:
  VerifyingObserver(std::vector<std::unique_ptr<CallCheck>> &checks,
                    const CompileOptions &options, Certificate &certificate)
      : checks(checks), options(options), certificate(certificate) {}

  void willRun(const transom::PassInfo &pass, ModuleOp module,
               const InstructionSet *isa) override;
  void passed(const transom::PassInfo &pass, ModuleOp module,
              const InstructionSet *isa) override;
  void finished(Stage stage, ModuleOp module) override;

  /// The error of an evaluation before all passes.
  Result<void> status;
  /// The difference was found by calls after all passes: its pass is not known.
  bool isUnnamed = false;

private:
  void compare(CallCheck &check, ModuleOp module, StringRef pass);
  void writeReproducer(const transom::PassInfo &pass, ModuleOp before);

  std::vector<std::unique_ptr<CallCheck>> &checks;
  const CompileOptions &options;
  Certificate &certificate;
  std::optional<OperationFingerPrint> before;
};

/// Checks one imported model.
class ModelVerifier {
public:
  ModelVerifier(const ImportInfo &info, const CompileOptions &recorded,
                const VerifyOptions &options)
      : info(info), options(options), compileOptions(recorded),
        shapes(info.tensorShapes) {
    // Nothing is printed.
    compileOptions.printAfter.clear();
    compileOptions.printChanged = compileOptions.timePasses = false;
  }

  Result<Certificate> run(OwningOpRef<ModuleOp> module);

private:
  void describe();
  Result<void> compile(ModuleOp module, CompileObserver &observer);
  Result<void> check(ModuleOp module, bool allAfterEachPass, bool &isUnnamed);
  Result<void> addCheck(ModuleOp module, CallLengths lengths,
                        bool afterEachPass);
  Result<void> compareStages(const StageTexts &texts) const;
  Result<void> writeStages(const StageTexts &texts) const;

  const ImportInfo &info;
  const VerifyOptions &options;
  CompileOptions compileOptions;
  const TensorShapes shapes;
  Certificate certificate;
  std::vector<std::unique_ptr<CallCheck>> checks;
};

} // namespace

static constexpr llvm::StringLiteral roundingPass = "kern-choose-precision";

std::optional<VerifyDifference> CallCheck::check(ModuleOp module,
                                                 StringRef pass, bool rounds) {
  if (auto difference = erased.check(module, pass))
    return difference;
  if (opaque)
    return opaque->check(module, pass);
  if (rounds && pass == roundingPass) {
    PassVerifierOptions own = options;
    own.rounding = Rounding::Opaque;
    opaque.emplace(own, cases);
    status = opaque->start(module);
  }
  return std::nullopt;
}

/// The fingerprint of a module without its remarks.
static OperationFingerPrint getFingerPrint(ModuleOp module) {
  Attribute remarks = module->removeAttr(Remarks::attributeName);
  OperationFingerPrint fingerPrint(module);
  if (remarks)
    module->setAttr(Remarks::attributeName, remarks);
  return fingerPrint;
}

void VerifyingObserver::willRun(const transom::PassInfo &, ModuleOp module,
                                const InstructionSet *) {
  before.emplace(getFingerPrint(module));
}

void VerifyingObserver::compare(CallCheck &check, ModuleOp module,
                                StringRef pass) {
  if (certificate.difference || !status)
    return;
  certificate.difference = check.check(module, pass, certificate.rounds());
  if (!check.status)
    status = check.status.takeError();
}

void VerifyingObserver::passed(const transom::PassInfo &pass, ModuleOp module,
                               const InstructionSet *) {
  const bool changed = getFingerPrint(module) != *before;
  if (certificate.difference || !status)
    return;
  certificate.passes.push_back(
      {getStageInfo(pass.stage).name, pass.flag.str(), changed});
  if (!changed)
    return;
  for (const auto &check : checks) {
    if (!check->afterEachPass)
      continue;
    compare(*check, module, pass.flag);
    if (certificate.difference)
      return writeReproducer(pass, check->erased.getBefore());
  }
}

void VerifyingObserver::writeReproducer(const transom::PassInfo &pass,
                                        ModuleOp before) {
  PipelineOptions pipeline;
  pipeline.disabled = {options.disabledPasses.begin(),
                       options.disabledPasses.end()};
  pipeline.backend = *parseBackend(options.backend);
  PassManager manager(before.getContext(), ModuleOp::getOperationName());
  manager.addPass(pass.create(pipeline));
  std::string text;
  llvm::raw_string_ostream stream(text);
  manager.printAsTextualPipeline(stream);
  VerifyDifference &difference = *certificate.difference;
  difference.reproducer =
      transom::writeReproducer(printReproducer(before, text));
  if (difference.reproducer.empty())
    return;
  difference.replay = "transom-opt --run-reproducer " + difference.reproducer;
  for (const std::string &plugin : options.passPlugins)
    difference.replay += " --load-pass-plugin=" + plugin;
}

void VerifyingObserver::finished(Stage stage, ModuleOp module) {
  CertifiedStage &certified = certificate.stages.emplace_back();
  certified.stage = getStageInfo(stage).name;
  certified.sha256 = Sha256::getHex(printModule(module));
  if (certificate.difference || !status)
    return;
  for (const auto &check : checks) {
    if (stage == Stage::Attn) {
      if (Result<void> started = check->start(module); !started)
        status = started.takeError();
    } else if (!check->afterEachPass && stage == Stage::Kern) {
      compare(*check, module, getStageInfo(stage).name);
      isUnnamed = certificate.difference.has_value();
    }
  }
  if (!certificate.difference && status)
    certified.results = checks.front()->erased.getDigest();
}

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
  ModuleSource source;
  source.tensors = &info.files;
  Result<CompileReport> report = compileModule(
      OwningOpRef<ModuleOp>(module.clone()), source, compileOptions, &observer);
  return report ? Result<void>() : report.takeError();
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
  own.source = &shapes;
  own.keyText = certificate.key;
  own.numLanes = static_cast<int>(options.lanes);
  checks.push_back(
      std::make_unique<CallCheck>(own, std::move(cases), afterEachPass));
  return {};
}

/// Compiles with checks. `isUnnamed`: what was found has no pass yet.
Result<void> ModelVerifier::check(ModuleOp module, bool allAfterEachPass,
                                  bool &isUnnamed) {
  checks.clear();
  certificate.passes.clear();
  certificate.stages.clear();
  certificate.difference.reset();
  TRANSOM_TRY(addCheck(module, CallLengths::Short, true));
  TRANSOM_TRY(addCheck(module, CallLengths::Panel, allAfterEachPass));
  VerifyingObserver observer(checks, compileOptions, certificate);
  TRANSOM_TRY(compile(module, observer));
  TRANSOM_TRY(std::move(observer.status));
  isUnnamed = observer.isUnnamed;
  certificate.equalConstants =
      checks.front()->erased.getDomain().getEqualConstants();
  return {};
}

/// What was checked has to be what the key was derived from.
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

Result<Certificate> ModelVerifier::run(OwningOpRef<ModuleOp> module) {
  describe();
  if (!options.allLayers)
    certificate.layers = cutLayers(*module);
  StageRecorder recorder;
  TRANSOM_TRY(compile(*module, recorder));
  std::vector<std::string> texts;
  for (const auto &[stage, text] : recorder.texts)
    texts.push_back(text);
  certificate.key = deriveKey(certificate.transom, texts);
  bool isUnnamed = false;
  TRANSOM_TRY(check(*module, false, isUnnamed));
  if (isUnnamed)
    TRANSOM_TRY(check(*module, true, isUnnamed));
  TRANSOM_TRY(compareStages(recorder.texts));
  certificate.tensors = info.tensorShapes;
  TRANSOM_TRY(writeStages(recorder.texts));
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

Result<CompileReport> transom::compileCertified(const CompileOptions &options) {
  if (!options.certify)
    return compile(options);
  if (!options.resumeFrom.empty())
    return usageError("'--certify' checks all passes; '--resume-from' leaves "
                      "some out");
  VerifyOptions verify;
  verify.compile = options;
  TRANSOM_ASSIGN(Certificate certificate, verifyModel(verify));
  TRANSOM_TRY(certificate.check());
  CompileOptions certified = options;
  certified.certificate = certificate.toJson(0);
  return compile(certified);
}
