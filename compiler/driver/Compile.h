// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a model to an artifact, or to text for an earlier stage. The header
// needs neither LLVM nor MLIR.
#pragma once
#include "compiler/options/CompileOptions.h"
#include "runtime/base/Error.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace transom {

/// Code size for an instruction set.
struct CompiledCode {
  std::string isa;
  uint64_t phases = 0, kernels = 0, bytes = 0;
};

/// Timing for one pass, recorded with `timePasses`.
struct PassTime {
  std::string stage; ///< as in `CompileReport::seconds`
  std::string pass;  ///< `cse:2`
  std::string isa;   ///< for passes in the stage `llvm-ir`
  double seconds = 0;
  uint64_t operationsBefore = 0, operationsAfter = 0;
  uint64_t passed = 0, missed = 0; ///< remarks
};

/// The result of a compile.
struct CompileReport {
  /// The stage as text, if it was emitted without an output file.
  std::string text;
  std::vector<std::string> written; ///< file paths
  std::vector<std::string> notes;   ///< messages for the user
  /// The time for each stage in seconds, in order.
  std::vector<std::pair<std::string, double>> seconds;
  std::vector<PassTime> passes;   ///< with `timePasses`, in order
  std::vector<CompiledCode> code; ///< if objects were created
  uint64_t fileBytes = 0;
  uint64_t parameters = 0;
};

/// Compiles a model. Errors have the tool's exit codes. An internal error names
/// a file with a reproducer.
Result<CompileReport> compile(const CompileOptions &options);

} // namespace transom
