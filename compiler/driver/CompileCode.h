// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code of a planned module for several instruction sets.
#pragma once
#include "compiler/artifact/Artifact.h"
#include "compiler/codegen/Object.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>

namespace transom {

class CompileObserver;
struct CodeListing;

/// Called in the calling thread with how much is done; an error stops the work.
using StageProgress =
    std::function<Result<void>(uint64_t done, uint64_t total)>;

/// LLVM IR of each instruction set, not optimized; nothing with `keep` false,
/// when the modules are lowered for `observer` alone. It may be null. With a
/// listing of the module, the code has its lines.
Result<std::vector<IsaModule>>
lowerToLlvm(mlir::ModuleOp module,
            const std::vector<const InstructionSet *> &isas,
            const StageProgress &progress, CompileObserver *observer = nullptr,
            bool keep = true, const CodeListing *listing = nullptr);

/// Reads what `printLLVM` has written, in a context of its own, and verifies
/// it.
Result<IsaModule> readLlvm(const std::string &text, const InstructionSet &isa);

/// How code is generated.
struct CodeOptions {
  CodeKind kind = CodeKind::Object;
  unsigned level = 2; ///< of optimize()
  unsigned jobs = 0;  ///< threads at most; 0: one a core
  /// The IR was read from a file: a crash of LLVM is an error.
  bool guarded = false;
};

/// Optimizes and generates code: for each instruction set an object file, or
/// its assembly.
Result<std::vector<IsaObject>> generate(std::vector<IsaModule> modules,
                                        const CodeOptions &options,
                                        const StageProgress &progress);

} // namespace transom
