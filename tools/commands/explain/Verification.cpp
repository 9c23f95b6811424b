// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each check repeats the compile. Passes, phases and operations are matched by
// name, and a mismatch is an error.
#include "tools/commands/explain/Verification.h"
#include "compiler/verify/VerifyModel.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/base/File.h"
#include "tools/commands/Compiler.h"
#include "tools/commands/verify/BitsElsewhere.h"
#include "tools/commands/verify/CodeReport.h"
#include "tools/commands/verify/MachineStepper.h"
#include <algorithm>
#include <cmath>

using namespace transom;
using namespace transom::tools;

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

static ExplainedVerification summarize(const Certificate &certificate) {
  ExplainedVerification verification;
  verification.verdict = certificate.difference ? "different" : "equal";
  verification.message = certificate.getVerdict();
  verification.calls = certificate.calls;
  verification.endCalls = certificate.endCalls;
  if (certificate.leavesLayersOut())
    verification.notRun.push_back(
        "passes: layers that are equal to others but for their weights");
  if (!certificate.isAtFullWidths())
    verification.notRun.push_back("passes: the model's own widths; " +
                                  certificate.describeWidths() + " ran");
  if (const auto &difference = certificate.difference)
    verification.difference = {difference->pass,   difference->str(),
                               difference->place,  difference->operation,
                               difference->before, difference->after,
                               difference->replay};
  return verification;
}

/// Returns the verdict on a pass that both compiles ran.
static const char *getVerdict(const ExplainedPass &pass,
                              const CertifiedPass &certified,
                              bool isDifferent) {
  if (isDifferent)
    return "different";
  if (certified.changed)
    return "equal";
  // A change in layers that the check omitted was not compared.
  return pass.changed ? "not run" : "unchanged";
}

Result<void> tools::setVerdicts(const Certificate &certificate,
                                Explanation &explanation) {
  auto next = certificate.passes.begin();
  const auto end = certificate.passes.end();
  // Empty extension points are not explained.
  auto isIdle = [](const CertifiedPass &pass) {
    return !pass.changed && pass.pass.rfind("extension-", 0) == 0;
  };
  for (ExplainedPass &pass : explanation.passes) {
    pass.verdict = "not run";
    if (!pass.isa.empty())
      continue;
    auto isSame = [&](const CertifiedPass &certified) {
      return certified.stage == pass.stage && certified.pass == pass.pass;
    };
    while (next != end && !isSame(*next) && isIdle(*next))
      ++next;
    // A check stops at the pass that differs.
    if (next == end && certificate.difference)
      continue;
    if (next == end || !isSame(*next))
      return internalError("the check of passes ran '" +
                           (next == end ? "nothing" : next->pass) +
                           "' in place of '" + pass.pass + "'");
    const bool isDifferent = certificate.difference && next + 1 == end &&
                             certificate.difference->pass == pass.pass;
    pass.verdict = getVerdict(pass, *next++, isDifferent);
  }
  next = std::find_if_not(next, end, isIdle);
  if (next != end)
    return internalError("the check of passes ran '" + next->pass +
                         "', which was not explained");
  explanation.verification = summarize(certificate);
  return {};
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

/// Returns the operations in a phase; null if the explanation lacks the phase.
static std::vector<PhaseOperation> *findOperations(Explanation &explanation,
                                                   const std::string &entry,
                                                   const std::string &name) {
  for (ExplainedEntry &explained : explanation.entries)
    if (explained.name == entry)
      for (ExplainedPhase &phase : explained.phases)
        if (phase.name == name)
          return &phase.operations;
  return nullptr;
}

static std::optional<double> getFinite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

Result<void> tools::setErrors(const CodeVerification &code,
                              Explanation &explanation) {
  // Assign the measured errors to the explained operations.
  for (const PhaseAccuracy &phase : code.accuracies) {
    std::vector<PhaseOperation> *operations =
        findOperations(explanation, phase.entry, phase.phase);
    for (const OperationAccuracy &measured : phase.operations) {
      const auto index = static_cast<size_t>(measured.index);
      if (!operations || index >= operations->size() ||
          (*operations)[index].name != measured.operation ||
          (*operations)[index].place.location != measured.location)
        return internalError("operation " + std::to_string(index) +
                             " of phase '" + phase.phase + "' in entry '" +
                             phase.entry + "', " + measured.operation +
                             ", was not explained");
      (*operations)[index].errors.push_back(
          {phase.isa, getFinite(measured.absolute),
           getFinite(measured.relative), measured.numbers, measured.call});
    }
  }
  // Summarize the checked entries.
  ExplainedVerification &verification = *explanation.verification;
  for (const CheckedEntry &entry : code.entries)
    verification.code.push_back({entry.isa, entry.entry, entry.calls,
                                 entry.dispatches, entry.numbers,
                                 entry.differences});
  if (!code.differences.empty())
    verification.codeDifference = describeDifference(code.differences.front());
  if (!code.whyNotBits.empty())
    verification.notRun.push_back("bits of some phases: " + code.whyNotBits);
  return {};
}

/// Compiles the model to a temporary file and steps through its code.
static Result<void> measure(const CompilerApi &compiler,
                            const CompileOptions &options,
                            Explanation &explanation) {
  std::vector<std::string> &notRun = explanation.verification->notRun;
  if (!explanation.model.hasWeights) {
    notRun.emplace_back("machine code: a config.json alone has no weights");
    return {};
  }
  TRANSOM_ASSIGN(WorkFolder folder, WorkFolder::create());
  CompileOptions whole = options;
  whole.emit = Stage::So;
  whole.output = joinPath(folder.path(), "model.so");
  TRANSOM_ASSIGN(CompileReport report, compiler.compile(whole));
  TRANSOM_ASSIGN(ArtifactFile file, ArtifactFile::open(whole.output));
  const Manifest &manifest = file.manifest();
  Result<void> runs = file.checkMachine();
  Result<RunnableModels> models =
      runs ? RunnableModels::load(whole.output, manifest)
           : Result<RunnableModels>(runs.takeError());
  if (!models) {
    const Error error = models.takeError();
    if (error.status != Status::Unsupported)
      return error;
    // The temporary file's name is irrelevant to the user.
    std::string why = error.message;
    if (const std::string name = whole.output + ": "; why.rfind(name, 0) == 0)
      why.replace(0, name.size(), "it ");
    notRun.push_back("machine code: " + why);
    return {};
  }
  for (const std::string &isa : models->lacking)
    notRun.push_back("machine code for " + isa + ": this CPU lacks it");
  // Batches and decode steps run in addition to these lengths.
  const StepperOptions calls{{1, 33}};
  MachineStepper stepper(*models, manifest, calls);
  TRANSOM_ASSIGN(CodeVerification code,
                 compiler.verifyArtifact(options, stepper));
  return setErrors(code, explanation);
}

Result<void> tools::addVerification(const CompileOptions &options,
                                    const VerifyOptions &how,
                                    Explanation &explanation) {
  TRANSOM_ASSIGN(const CompilerApi *compiler, openCompiler());
  VerifyOptions passes = how;
  passes.compile = options;
  TRANSOM_ASSIGN(Certificate certificate, compiler->verifyModel(passes));
  TRANSOM_TRY(setVerdicts(certificate, explanation));
  return measure(*compiler, options, explanation);
}

Result<void> tools::checkVerification(const Explanation &explanation) {
  if (!explanation.verification)
    return {};
  const ExplainedVerification &verification = *explanation.verification;
  if (verification.difference)
    return Error{Status::CheckFailed,
                 explanation.model.name + ": " +
                     verification.difference->message,
                 {}};
  if (!verification.codeDifference.empty())
    return Error{Status::CheckFailed,
                 explanation.model.name + ": " + verification.codeDifference,
                 {}};
  return {};
}
