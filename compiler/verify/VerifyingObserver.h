// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Observers of a compile: one keeps the texts of its stages, one compares its
// modules in residues.
#pragma once
#include "compiler/driver/CompileObserver.h"
#include "compiler/verify/VerifyModel.h"
#include "compiler/verify/VerifyPasses.h"
#include <chrono>

namespace transom {

/// The text of each stage.
using StageTexts = std::map<Stage, std::string>;

/// Keeps the texts of a compile.
class StageRecorder : public CompileObserver {
public:
  void willRun(const PassInfo &pass, mlir::ModuleOp module,
               const InstructionSet *isa) override;
  void passed(const PassInfo &pass, mlir::ModuleOp module,
              const InstructionSet *isa) override;
  void finished(Stage stage, mlir::ModuleOp module) override;

  StageTexts texts;
  /// The structures of the stages, and the flags of passes that changed the
  /// module, line by line.
  std::string structure;
  uint64_t numChanges = 0;
  /// Whether a pass inserts roundings.
  bool rounds = false;

private:
  std::optional<mlir::OperationFingerPrint> before;
};

/// How long a check takes, and how much memory.
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

  /// Reports that nothing is done yet. An error if the check is to stop.
  Result<void> begin();
  /// The same after an evaluation of what `pass` left.
  Result<void> count(llvm::StringRef pass);

private:
  Result<void> report(llvm::StringRef pass);

  const VerifyOptions &options;
  const VerifyEstimate estimate;
  const std::chrono::steady_clock::time_point started;
  uint64_t done = 0;
};

/// Some calls of a model, compared after each pass or after all of them.
class CallCheck {
public:
  CallCheck(const PassVerifierOptions &options, std::vector<VerifyCase> cases,
            bool afterEachPass)
      : options(options), cases(cases), erased(options, std::move(cases)),
        afterEachPass(afterEachPass) {}

  Result<void> start(mlir::ModuleOp module);
  /// Drops what makes the next evaluation faster.
  void forget();
  std::optional<VerifyDifference> check(mlir::ModuleOp module,
                                        llvm::StringRef pass, bool rounds);

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
                    const CompileOptions &options, Certificate &certificate,
                    EvaluationCounter &counter)
      : checks(checks), options(options), certificate(certificate),
        counter(counter) {}

  void willRun(const PassInfo &pass, mlir::ModuleOp module,
               const InstructionSet *isa) override;
  void passed(const PassInfo &pass, mlir::ModuleOp module,
              const InstructionSet *isa) override;
  void finished(Stage stage, mlir::ModuleOp module) override;

  /// The error of an evaluation before all passes.
  Result<void> status;
  /// The difference was found by calls after all passes: its pass is not known.
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
