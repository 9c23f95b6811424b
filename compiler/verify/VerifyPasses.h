// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An exact check of a pass: the results of a module in residues are what they
// were before it.
#pragma once
#include "compiler/evaluator/Evaluator.h"
#include "compiler/evaluator/residues/Residues.h"
#include "compiler/verify/Certificate.h"
#include "compiler/verify/VerifyCalls.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>

namespace transom {

struct PassVerifierOptions {
  /// Where weights have their shapes; nothing is read from it.
  const TensorSource *source = nullptr;
  /// Secret keys are derived from it.
  std::string keyText;
  int numLanes = 1;
  Rounding rounding = Rounding::Erased;
};

/// Compares a module with itself as it was.
class PassVerifier {
public:
  PassVerifier(const PassVerifierOptions &options,
               std::vector<VerifyCase> cases);

  /// Notes the results of the module.
  Result<void> start(mlir::ModuleOp module);
  /// Compares them with those after a pass. A pass that inserts roundings is
  /// not compared where these are opaque: what it makes is what later passes
  /// have to keep, as are results that a pass adds.
  std::optional<VerifyDifference> check(mlir::ModuleOp module,
                                        llvm::StringRef pass);
  /// How the module's results differ from those noted: empty where all
  /// are equal, else the first that is not, or the error of the evaluation.
  std::string findDifference(mlir::ModuleOp module);
  const Residues &getDomain() const { return domain; }
  /// Drops what makes the next evaluation faster.
  void forget() { domain.forget(); }
  /// The module as it was at the last check.
  mlir::ModuleOp getBefore() const { return *before; }
  /// The sha256 of all results, in hex.
  std::string getDigest() const;

private:
  /// The results of one call.
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
  mlir::OwningOpRef<mlir::ModuleOp> before; ///< as it was at the last check
  std::vector<Outputs> expected;
};

} // namespace transom
