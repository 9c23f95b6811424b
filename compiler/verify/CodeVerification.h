// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The result of checking machine code against its kern module. Includes no LLVM
// or MLIR headers.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace transom {

/// The first element in one dispatch result that differs from the evaluation.
struct CodeDifference {
  std::string isa, entry, call, phase;
  int64_t layer = -1;              ///< -1: outside layers
  std::string operation, location; ///< kern operation, and its module path
  std::string buffer, index;
  std::string expected, found;    ///< bits and value
  int64_t count = 0, numbers = 0; ///< elements that differ, and all elements
};

/// Errors against float64; each is the maximum over all layers and calls.
struct Accuracy {
  std::string buffer, call; ///< with the largest error
  int64_t layer = -1;
  int64_t numbers = 0; ///< compared
  double absolute = 0; ///< max |machine - float64|
  double relative =
      0; ///< absolute error, divided by the result's max |float64|
};

/// Results for one operation in a phase, also for integers. The phase starts
/// from the machine's inputs, so errors from earlier operations in the phase
/// are included.
struct OperationAccuracy : Accuracy {
  int64_t index = 0;               ///< among the phase's operations on buffers
  std::string operation, location; ///< kern operation, and its module path
};

/// The machine's own error against float64 in a phase: both have the same
/// inputs.
struct PhaseAccuracy : Accuracy {
  std::string isa, entry, phase, location;
  std::vector<OperationAccuracy> operations; ///< in the order of the phase
};

/// An entry on an instruction set.
struct CheckedEntry {
  std::string isa, entry;
  int64_t calls = 0, dispatches = 0;
  int64_t numbers = 0;     ///< with compared bits
  int64_t differences = 0; ///< dispatches with other bits
};

struct CodeVerification {
  /// The reason why some phases have no bit comparison; empty if all have one.
  std::string whyNotBits;
  std::vector<CheckedEntry> entries;
  std::vector<CodeDifference> differences; ///< limited to the first ones
  std::vector<PhaseAccuracy> accuracies;   ///< by entry, in order
};

} // namespace transom
