// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests of whole models share: tensors from files, comparison of results,
// and passes one by one with a check after each.
#pragma once
#include "compiler/evaluator/Evaluator.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/verify/VerifyPasses.h"
#include <set>

namespace transom::testing {

/// The root of the sources; tests are run by ctest, which sets it.
std::string sourceFolder();

/// All tensors of a safetensors file as float64 or int64.
std::vector<NamedTensor> readTensors(const std::string &path);

/// Empty when each expected tensor is among `got` and each element differs by
/// at most `tolerance * (1 + |expected|)`; else the worst difference.
std::string getDifference(llvm::ArrayRef<NamedTensor> got,
                          llvm::ArrayRef<NamedTensor> expected,
                          double tolerance);

/// Empty when each expected tensor is among `got` and each element has the same
/// bits as f32; else the first difference. All NaNs are equal.
std::string getBitDifference(llvm::ArrayRef<NamedTensor> got,
                             llvm::ArrayRef<NamedTensor> expected);

/// Inputs of an entry and what it must give.
struct Case {
  std::string entry;
  std::vector<NamedTensor> inputs, outputs;
  /// For a step: the sequences of its rows, all without a past.
  std::vector<SequenceRows> sequences;
};

/// The case as a single call, for the exact check.
VerifyCase toVerifyCase(const Case &test);

/// Runs one case.
Result<std::vector<NamedTensor>> evaluateCase(mlir::ModuleOp module,
                                              const Case &test,
                                              const EvaluateOptions &options);

/// Runs the passes of a stage on the module, and after each checks that the
/// module is valid, that each operation has a location, and that the results of
/// all cases in residues are equal: where roundings count as nothing, and where
/// they are a function, from the pass that inserts them on. At the end results
/// in float64 may differ by the tolerance, after what roundings change. Gives
/// the first complaint. An entry with weights of attention that is made of that
/// of the cases is checked from then on; `after` are the cases with its own.
std::string checkPasses(mlir::ModuleOp module, Stage stage,
                        const EvaluateOptions &options,
                        llvm::ArrayRef<Case> cases, double tolerance,
                        const std::set<std::string> &disabled = {},
                        Backend backend = Backend::Native,
                        std::vector<Case> *after = nullptr);

} // namespace transom::testing
