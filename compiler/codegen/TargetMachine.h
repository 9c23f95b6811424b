// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction sets that code is generated for, and LLVM's target machine
// of each.
#pragma once
#include "runtime/base/Error.h"
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
  const char *target;   ///< of `--target`: `x86-64-v3`, ...
  const char *cpu;      ///< LLVM's CPU
  const char *features; ///< LLVM's features beyond the CPU's
  const char *triple;   ///< LLVM's name of machine and system
  bool forBf16 = false; ///< makes a difference to models in bf16 only
};

/// All that are built, weakest first.
const std::vector<TargetIsa> &targetIsas();

/// The instruction set of that name (`avx2`); an error that lists them.
Result<const TargetIsa *> isaOfName(const std::string &name);

/// The instruction sets of the values of `--target`: names of targets or
/// `native`, those of x86-64 when none is given. Weakest first, each once, all
/// of one kind of machine; those for bf16 only when the model is in it.
Result<std::vector<const TargetIsa *>>
isasOfTargets(const std::vector<std::string> &targets, bool bf16 = false);

/// LLVM's code generator for an instruction set: position-independent, no
/// contraction of separate multiplications and additions.
Result<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const TargetIsa &isa);

} // namespace transom
