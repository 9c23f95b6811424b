// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates a module after each pass that changes more than its remarks.
#include "compiler/verify/VerifyingObserver.h"
#include "compiler/pipeline/Reproducer.h"
#include "compiler/stages/ModuleText.h"
#include "compiler/verify/SameStructure.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Remarks.h"
#include "runtime/base/Sha256.h"

using namespace mlir;

namespace transom {

static constexpr llvm::StringLiteral roundingPass = "kern-choose-precision";

/// The module fingerprint without remarks.
static OperationFingerPrint getFingerPrint(ModuleOp module) {
  Attribute remarks = module->removeAttr(Remarks::attributeName);
  OperationFingerPrint fingerPrint(module);
  if (remarks)
    module->setAttr(Remarks::attributeName, remarks);
  return fingerPrint;
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

void StageRecorder::willRun(const PassInfo &, ModuleOp module,
                            const InstructionSet *) {
  before.emplace(getFingerPrint(module));
}

void StageRecorder::passed(const PassInfo &pass, ModuleOp module,
                           const InstructionSet *) {
  if (getFingerPrint(module) == *before)
    return;
  ++numChanges;
  rounds |= pass.flag == roundingPass;
  structure += pass.flag.str() + "\n";
}

void StageRecorder::finished(Stage stage, ModuleOp module) {
  texts[stage] = printModule(module);
  structure += printStructure(module);
}

Result<void> EvaluationCounter::begin() { return report(""); }

Result<void> EvaluationCounter::count(StringRef pass) {
  ++done;
  return report(pass);
}

Result<void> EvaluationCounter::report(StringRef pass) {
  if (!options.progress)
    return {};
  VerifyProgress progress;
  progress.pass = pass.str();
  progress.done = std::min(done, estimate.evaluations);
  progress.total = estimate.evaluations;
  progress.bytes = estimate.bytes;
  progress.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started)
          .count();
  progress.secondsLeft =
      done == 0 ? estimate.seconds
                : progress.seconds *
                      static_cast<double>(progress.total - progress.done) /
                      static_cast<double>(progress.done);
  if (!options.progress(progress))
    return unavailable("interrupted");
  return {};
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

Result<void> CallCheck::start(ModuleOp module) {
  Result<void> started = erased.start(module);
  // The next evaluation follows all passes.
  if (!afterEachPass)
    erased.forget();
  return started;
}

void CallCheck::forget() {
  erased.forget();
  if (opaque)
    opaque->forget();
}

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

void VerifyingObserver::willRun(const PassInfo &, ModuleOp module,
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
  else
    status = counter.count(pass);
}

void VerifyingObserver::passed(const PassInfo &pass, ModuleOp module,
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

void VerifyingObserver::writeReproducer(const PassInfo &pass, ModuleOp before) {
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
    // The calls after all passes need the memory.
    if (stage == Stage::Kern && check->afterEachPass)
      check->forget();
    if (stage == Stage::Attn) {
      if (Result<void> started = check->start(module); !started)
        status = started.takeError();
      else if (Result<void> counted = counter.count("import"); !counted)
        status = counted.takeError();
    } else if (!check->afterEachPass && stage == Stage::Kern) {
      compare(*check, module, getStageInfo(stage).name);
      isUnnamed = certificate.difference.has_value();
    }
  }
  if (!certificate.difference && status)
    certified.results = checks.front()->erased.getDigest();
}

} // namespace transom
