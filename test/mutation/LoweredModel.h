// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small random model with odd sizes, lowered for AVX2, or with whole bf16
// tiles, lowered for AMX. Its machine code is checked against its kern module
// as `transom verify MODEL.so --model MODEL` does.
#pragma once
#include "compiler/codegen/Object.h"
#include "compiler/driver/CompileModule.h"
#include "compiler/verify/ArtifactStepper.h"
#include "compiler/verify/CodeVerification.h"
#include "mlir/IR/MLIRContext.h"
#include "test/e2e/random/RandomGraph.h"
#include <optional>
#include <set>

namespace transom::testing {

/// The result from a check.
struct CodeFinding {
  /// Wrong machine code results; empty: no difference.
  std::optional<CodeDifference> difference;
  std::string error;      ///< why the check ended
  bool isValid = true;    ///< false: the code did not become an artifact
  int64_t dispatches = 0; ///< that were checked
};

class LoweredModel {
public:
  explicit LoweredModel(uint64_t seed);
  ~LoweredModel();

  /// Compiles up to loops and vectors. Returns the error, or an empty string.
  std::string start();
  /// The code for all phases and kernels.
  mlir::ModuleOp getCode() { return *code; }

  /// Makes an artifact with other code and steps through it up to the first
  /// difference. Only dispatches to these functions are checked, since the
  /// others have the original code. An empty set checks all.
  CodeFinding check(mlir::ModuleOp mutant, const std::set<std::string> &phases);

  /// Runs other code on the calls from a check, or on calls with other sizes,
  /// and checks nothing. Returns the error, or an empty string.
  std::string run(mlir::ModuleOp mutant, bool hasOtherSizes);

  /// A description in words.
  const std::string &getName() const { return name; }

private:
  void makeGraph(uint64_t seed, GraphKind kind);
  void makeExperts();
  void makeDecoder(uint64_t seed, bool hasSource);
  /// Runs the passes up to `kern`.
  std::string plan();
  /// Writes an artifact; returns the error, or an empty string.
  Result<void> write(mlir::ModuleOp mutant);
  Result<void> step(const std::set<std::string> &phases, CodeFinding &finding);

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  RandomWeights weights;
  CompileOptions options;
  std::string name, isa;
  mlir::OwningOpRef<mlir::ModuleOp> module, planned, code;
};

} // namespace transom::testing
