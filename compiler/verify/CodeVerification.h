// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a check of machine code against its kern module found. No header of LLVM
// or MLIR comes along.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace transom {

/// The first number of one result of a dispatch that is not as evaluated.
struct CodeDifference {
  std::string isa, entry, call, phase;
  int64_t layer = -1;              ///< -1: outside of layers
  std::string operation, location; ///< of kern, and its module path
  std::string buffer, index;
  std::string expected, found;    ///< bits and value
  int64_t count = 0, numbers = 0; ///< how many differ, of how many
};

/// How far results are from float64. Over all layers and calls the largest.
struct Accuracy {
  std::string buffer, call; ///< where the error is largest
  int64_t layer = -1;
  int64_t numbers = 0; ///< compared
  double absolute = 0; ///< largest |machine - float64|
  double relative = 0; ///< largest, by the largest |float64| of the result
};

/// The results of one operation of a phase, integers as well. The phase starts
/// from the machine's inputs, so errors of operations before this one in the
/// phase are part of its own.
struct OperationAccuracy : Accuracy {
  int64_t index = 0;               ///< among the phase's operations on buffers
  std::string operation, location; ///< of kern, and its module path
};

/// How far the machine is from float64 in a phase, on the same inputs: its own
/// error.
struct PhaseAccuracy : Accuracy {
  std::string isa, entry, phase, location;
  std::vector<OperationAccuracy> operations; ///< in the order of the phase
};

/// An entry on an instruction set.
struct CheckedEntry {
  std::string isa, entry;
  int64_t calls = 0, dispatches = 0;
  int64_t numbers = 0;     ///< whose bits were compared
  int64_t differences = 0; ///< dispatches with other bits
};

struct CodeVerification {
  /// Why bits of some phases are not compared; empty if all are.
  std::string whyNotBits;
  std::vector<CheckedEntry> entries;
  std::vector<CodeDifference> differences; ///< the first ones
  std::vector<PhaseAccuracy> accuracies;   ///< by entry, in order
};

} // namespace transom
