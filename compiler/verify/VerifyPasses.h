// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An exact check for a pass: a module's results in residues must not change.
#pragma once
#include "compiler/evaluator/Evaluator.h"
#include "compiler/evaluator/residues/Residues.h"
#include "compiler/verify/Certificate.h"
#include "compiler/verify/VerifyCalls.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>

namespace transom {

struct PassVerifierOptions {
  /// Provides weight shapes; elements are never read.
  const TensorSource *source = nullptr;
  /// Secret keys are derived from it.
  std::string keyText;
  int numLanes = 1;
  Rounding rounding = Rounding::Erased;
};

/// Compares a module with an earlier version.
class PassVerifier {
public:
  PassVerifier(const PassVerifierOptions &options,
               std::vector<VerifyCase> cases);

  /// Records the module's results.
  Result<void> start(mlir::ModuleOp module);
  /// Compares the results after a pass. A pass that inserts roundings is not
  /// compared if these are opaque: its results become the expected ones for
  /// later passes, and so do results that a pass adds.
  std::optional<VerifyDifference> check(mlir::ModuleOp module,
                                        llvm::StringRef pass);
  /// The first difference from the recorded results, or the evaluation error;
  /// empty if all are equal.
  std::string findDifference(mlir::ModuleOp module);
  const Residues &getDomain() const { return domain; }
  /// Drops cached values that speed up the next evaluation.
  void forget() { domain.forget(); }
  /// The module at the last check.
  mlir::ModuleOp getBefore() const { return *before; }
  /// The sha256 over all results, in hex.
  std::string getDigest() const;

private:
  /// Results from one call.
  struct Outputs {
    struct Output {
      std::string name;
      Sizes sizes;
      std::vector<Residue> elements;
    };
    std::vector<Output> outputs;
  };
  /// Called with an operation and a number that it computes.
  using Observer = std::function<void(mlir::Operation *, const Residue &)>;

  Result<std::vector<Outputs>> evaluateAll(mlir::ModuleOp module,
                                           const Observer &observer = nullptr);
  std::string findDifference(llvm::ArrayRef<Outputs> got) const;
  void noteNewOutputs(llvm::ArrayRef<Outputs> got);
  void locate(mlir::ModuleOp module, VerifyDifference &difference);

  const PassVerifierOptions options;
  Residues domain;
  std::vector<VerifyCase> cases;
  mlir::OwningOpRef<mlir::ModuleOp> before; ///< at the last check
  std::vector<Outputs> expected;
};

} // namespace transom
