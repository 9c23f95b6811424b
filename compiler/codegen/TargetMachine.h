// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction sets that `--target` selects, and LLVM's target machine of
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

/// The instruction sets of the values of `--target`: names of targets or
/// `native`, those of x86-64 when none is given. Weakest first, each once, all
/// of one kind of machine; those for a type only when the model has it.
Result<std::vector<const InstructionSet *>>
selectTargets(const std::vector<std::string> &targets, ModelTypes types = {});

/// LLVM's code generator for an instruction set: position-independent, no
/// contraction of separate multiplications and additions.
Result<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const InstructionSet &isa);

} // namespace transom
