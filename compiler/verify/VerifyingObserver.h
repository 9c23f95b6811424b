// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compile observers: one records stage texts, one compares modules in residues.
#pragma once
#include "compiler/driver/CompileObserver.h"
#include "compiler/verify/VerifyModel.h"
#include "compiler/verify/VerifyPasses.h"
#include <chrono>

namespace transom {

/// Text by stage.
using StageTexts = std::map<Stage, std::string>;

/// Records the stage texts in a compilation.
class StageRecorder : public CompileObserver {
public:
  void willRun(const PassInfo &pass, mlir::ModuleOp module,
               const InstructionSet *isa) override;
  void passed(const PassInfo &pass, mlir::ModuleOp module,
              const InstructionSet *isa) override;
  void finished(Stage stage, mlir::ModuleOp module) override;

  StageTexts texts;
  /// Stage structures, and flags of passes that changed the module, line by
  /// line.
  std::string structure;
  uint64_t numChanges = 0;
  /// True if a pass inserts roundings.
  bool rounds = false;

private:
  std::optional<mlir::OperationFingerPrint> before;
};

/// Estimated time and memory for a check.
struct VerifyEstimate {
  uint64_t evaluations = 0;
  double seconds = 0;
  uint64_t bytes = 0;
};

/// Counts evaluations and reports them.
class EvaluationCounter {
public:
  EvaluationCounter(const VerifyOptions &options,
                    const VerifyEstimate &estimate)
      : options(options), estimate(estimate),
        started(std::chrono::steady_clock::now()) {}

  /// Reports the start. An error if the check is to stop.
  Result<void> begin();
  /// The same after the evaluation that follows `pass`.
  Result<void> count(llvm::StringRef pass);

private:
  Result<void> report(llvm::StringRef pass);

  const VerifyOptions &options;
  const VerifyEstimate estimate;
  const std::chrono::steady_clock::time_point started;
  uint64_t done = 0;
};

/// Some model calls, compared after each pass or only after all passes.
class CallCheck {
public:
  CallCheck(const PassVerifierOptions &options, std::vector<VerifyCase> cases,
            bool afterEachPass)
      : options(options), cases(cases), erased(options, std::move(cases)),
        afterEachPass(afterEachPass) {}

  Result<void> start(mlir::ModuleOp module);
  /// Drops cached values that speed up the next evaluation.
  void forget();
  std::optional<VerifyDifference> check(mlir::ModuleOp module,
                                        llvm::StringRef pass, bool rounds);

  const PassVerifierOptions options;
  const std::vector<VerifyCase> cases;
  /// Treats roundings as the identity, and as a function from the pass that
  /// inserts them.
  PassVerifier erased;
  std::optional<PassVerifier> opaque;
  const bool afterEachPass;
  Result<void> status;
};

/// Compares the modules in a compilation.
class VerifyingObserver : public CompileObserver {
public:
  VerifyingObserver(std::vector<std::unique_ptr<CallCheck>> &checks,
                    const CompileOptions &options, Certificate &certificate,
                    EvaluationCounter &counter)
      : checks(checks), options(options), certificate(certificate),
        counter(counter) {}

  void willRun(const PassInfo &pass, mlir::ModuleOp module,
               const InstructionSet *isa) override;
  void passed(const PassInfo &pass, mlir::ModuleOp module,
              const InstructionSet *isa) override;
  void finished(Stage stage, mlir::ModuleOp module) override;

  /// The error from an evaluation before all passes.
  Result<void> status;
  /// True if calls after all passes found the difference, so its pass is
  /// unknown.
  bool isUnnamed = false;

private:
  void compare(CallCheck &check, mlir::ModuleOp module, llvm::StringRef pass);
  void writeReproducer(const PassInfo &pass, mlir::ModuleOp before);

  std::vector<std::unique_ptr<CallCheck>> &checks;
  const CompileOptions &options;
  Certificate &certificate;
  EvaluationCounter &counter;
  std::optional<mlir::OperationFingerPrint> before;
};

} // namespace transom
