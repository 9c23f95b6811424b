// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Human-readable assembly: comments name the operation that an instruction
// block belongs to.
#pragma once
#include "compiler/codegen/Object.h"

namespace llvm {
class raw_pwrite_stream;
namespace legacy {
class PassManager;
} // namespace legacy
} // namespace llvm

namespace transom {

/// Adds the passes that print a module as assembly, with comments from
/// `code.lineNotes` in place of line tables. Fails if LLVM has no code
/// generator for the target.
Result<void> addAssemblyPasses(IsaModule &code,
                               llvm::legacy::PassManager &passes,
                               llvm::raw_pwrite_stream &stream);

} // namespace transom
