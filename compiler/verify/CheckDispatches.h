// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates the phase for each dispatch that a program presents, and collects
// differences from the machine.
#pragma once
#include "compiler/evaluator/bits/Bits.h"
#include "compiler/verify/CompareMemory.h"

namespace transom {

class CheckDispatches : public DispatchChecker {
public:
  /// All arguments must outlive this object.
  CheckDispatches(mlir::ModuleOp module, const TensorSource &source,
                  const Manifest &manifest);

  void willRun(const SteppedDispatch &dispatch) override;
  void didRun(const SteppedDispatch &dispatch) override;
  bool hasFailed() const override { return !outcome; }
  /// True if a dispatch has written other bytes than its phase.
  bool hasDifferences() const { return !result.differences.empty(); }

  /// The result, or the error that ended the check.
  Result<CodeVerification> take();

private:
  /// The current dispatch.
  struct Current {
    const ManifestEntry *entry = nullptr;
    PhaseSite site;
    MachineSnapshot before;
    PhaseState state;
    CacheStore caches, bitsCaches; ///< for float64, and for bits
  };
  Result<void> prepare(const SteppedDispatch &dispatch);
  Result<void> check(const SteppedDispatch &dispatch);
  /// The domain for an instruction set.
  Bits &getBits(const std::string &isa);
  CheckedEntry &getEntry(const SteppedDispatch &dispatch);
  void addDifferences(std::vector<CodeDifference> found);
  void addErrors(const SteppedDispatch &dispatch,
                 const std::vector<MeasuredError> &errors);

  /// Max number of reported differences.
  static constexpr size_t maxDifferences = 20;

  const Manifest &manifest;
  std::map<std::string, Bits> bits; ///< by instruction set
  PhaseEvaluator evaluator;
  std::map<std::string, std::vector<PhaseSite>> sites; ///< by entry
  std::set<std::string> knownSizes; ///< bounded sizes in the call
  Current current;
  CodeVerification result;
  Result<void> outcome;
};

} // namespace transom
