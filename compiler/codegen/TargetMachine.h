// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction sets that code is generated for, and LLVM's target machine
// of each.
#pragma once
#include "runtime/support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace transom {

/// An instruction set with code of its own in an artifact.
struct TargetIsa {
  const char *name;     ///< ours: `avx2`, `avx512`
  const char *target;   ///< of `--target`, and LLVM's CPU: `x86-64-v3`, ...
  const char *features; ///< LLVM's features beyond the CPU's
};

/// All that are built, weakest first.
const std::vector<TargetIsa> &targetIsas();

/// The instruction set of that name (`avx2`); an error that lists them.
Result<const TargetIsa *> isaOfName(const std::string &name);

/// The instruction sets of the values of `--target`: names of targets or
/// `native`, for all when none is given. Weakest first, each once.
Result<std::vector<const TargetIsa *>>
isasOfTargets(const std::vector<std::string> &targets);

/// LLVM's code generator for an instruction set: position-independent, no
/// contraction of separate multiplications and additions.
Result<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const TargetIsa &isa);

} // namespace transom
