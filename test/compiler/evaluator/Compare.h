// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared parts of whole-model tests: tensors from files, result comparison, and
// passes with a check after each.
#pragma once
#include "compiler/evaluator/Evaluator.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/verify/VerifyPasses.h"
#include <set>

namespace transom::testing {

/// Returns the source root; ctest sets it for its tests.
std::string sourceFolder();

/// Reads all tensors in a safetensors file as float64 or int64.
std::vector<NamedTensor> readTensors(const std::string &path);

/// Empty when each expected tensor is among `got` and each element differs by
/// at most `tolerance * (1 + |expected|)`; else the worst difference.
std::string getDifference(llvm::ArrayRef<NamedTensor> got,
                          llvm::ArrayRef<NamedTensor> expected,
                          double tolerance);

/// Returns an empty string if each expected tensor is in `got` and each element
/// has the same bits as f32; else the first difference. All NaNs are equal.
std::string getBitDifference(llvm::ArrayRef<NamedTensor> got,
                             llvm::ArrayRef<NamedTensor> expected);

/// Entry inputs and expected results.
struct Case {
  std::string entry;
  std::vector<NamedTensor> inputs, outputs;
  /// For a step: the sequences for its rows, all without a past.
  std::vector<SequenceRows> sequences;
};

/// The case as a single call, for the exact check.
VerifyCase toVerifyCase(const Case &test);

/// Runs one case.
Result<std::vector<NamedTensor>> evaluateCase(mlir::ModuleOp module,
                                              const Case &test,
                                              const EvaluateOptions &options);

/// Runs the passes in a stage on the module. After each pass it checks that the
/// module is valid, that each operation has a location, and that the results
/// for all cases in residues are equal: with roundings ignored, and with
/// roundings as a function, starting at the pass that inserts them. At the end
/// results in float64 may differ by the tolerance, after rounding differences.
/// Returns the first error. An entry with attention weights that is derived
/// from the cases' entry is checked from then on; `after` are its cases.
std::string checkPasses(mlir::ModuleOp module, Stage stage,
                        const EvaluateOptions &options,
                        llvm::ArrayRef<Case> cases, double tolerance,
                        const std::set<std::string> &disabled = {},
                        Backend backend = Backend::Native,
                        std::vector<Case> *after = nullptr);

} // namespace transom::testing
