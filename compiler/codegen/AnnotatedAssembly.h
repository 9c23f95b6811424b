// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assembly for people: comments say which operation a block of instructions
// belongs to.
#pragma once
#include "compiler/codegen/Object.h"

namespace llvm {
class raw_pwrite_stream;
namespace legacy {
class PassManager;
} // namespace legacy
} // namespace llvm

namespace transom {

/// Adds the passes that print the assembly of a module, with comments from
/// `code.lineNotes` in place of its line tables. Fails where LLVM has no code
/// generator.
Result<void> addAssemblyPasses(IsaModule &code,
                               llvm::legacy::PassManager &passes,
                               llvm::raw_pwrite_stream &stream);

} // namespace transom
