// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction sets that `--target` selects, and an LLVM target machine for
// each.
#pragma once
#include "runtime/base/InstructionSet.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace transom {

/// Returns the instruction sets for the values of `--target`: target names or
/// `native`; by default all x86-64 sets. The result is sorted weakest first,
/// without duplicates, all for one machine architecture. Sets for a data type
/// are included only if the model has that type.
Result<std::vector<const InstructionSet *>>
selectTargets(const std::vector<std::string> &targets, ModelTypes types = {});

/// Creates LLVM's code generator for an instruction set: position-independent,
/// no contraction of separate multiplications and additions.
Result<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const InstructionSet &isa);

} // namespace transom
