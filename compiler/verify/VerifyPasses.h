// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes one by one, with an exact check after each that changed the module:
// its results in residues are what they were.
#pragma once
#include "compiler/evaluator/Evaluator.h"
#include "compiler/evaluator/Residues.h"
#include "compiler/pipeline/Pipeline.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>

namespace transom {

/// One call of an entry. Only the sizes of inputs of floats count, and which of
/// their elements are 0, 1 or at most -1e30: any other is any number.
struct VerifyCall {
  std::string entry;
  std::vector<NamedTensor> inputs;
  /// For a step: the sequences of its rows.
  std::vector<SequenceRows> sequences;
};

/// Calls one after another, which share their caches.
using VerifyCase = std::vector<VerifyCall>;

struct VerifyOptions {
  /// Where weights have their shapes; nothing is read from it.
  const TensorSource *source = nullptr;
  /// Secret keys are derived from it.
  std::string keyText;
  int numLanes = 1;
  Rounding rounding = Rounding::Erased;
};

/// A pass after which a module is another function.
struct VerifyDifference {
  std::string pass;
  /// Which result differs where; or the error of the evaluation.
  std::string result;
  /// The first operation in the order of execution that computes a number which
  /// no operation computed before the pass: its place and its name; empty if
  /// all are old.
  std::string place, operation;

  std::string str() const;
};

/// Compares a module with itself as it was.
class PassVerifier {
public:
  PassVerifier(const VerifyOptions &options, std::vector<VerifyCase> cases);

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

  const VerifyOptions options;
  Residues domain;
  std::vector<VerifyCase> cases;
  mlir::OwningOpRef<mlir::ModuleOp> before; ///< as it was at the last check
  std::vector<Outputs> expected;
};

/// What `verifyPasses` did.
struct VerifyReport {
  /// The passes that changed the module, in order.
  std::vector<std::string> changed;
  /// The first that made it another function.
  std::optional<VerifyDifference> difference;
  /// Constants taken for something else than their exact value.
  std::vector<std::string> equalConstants;
};

/// Runs the passes of some stages on a module, up to the first that makes it
/// another function. An error where the module cannot be evaluated, or a pass
/// fails.
Result<VerifyReport> verifyPasses(mlir::ModuleOp module,
                                  llvm::ArrayRef<Stage> stages,
                                  const PipelineOptions &passes,
                                  const VerifyOptions &options,
                                  std::vector<VerifyCase> cases);

} // namespace transom
