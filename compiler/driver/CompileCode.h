// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code for a planned module, for several instruction sets.
#pragma once
#include "compiler/artifact/Artifact.h"
#include "compiler/codegen/Object.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>

namespace transom {

class CompileObserver;
struct CodeListing;

/// Called in the calling thread with the progress; an error stops the work.
using StageProgress =
    std::function<Result<void>(uint64_t done, uint64_t total)>;

/// Returns unoptimized LLVM IR for each instruction set; with `keep` false the
/// modules are lowered for `observer` only, and the result is empty. `observer`
/// may be null. With a listing of the module, the code has its lines.
Result<std::vector<IsaModule>>
lowerToLlvm(mlir::ModuleOp module,
            const std::vector<const InstructionSet *> &isas,
            const StageProgress &progress, CompileObserver *observer = nullptr,
            bool keep = true, const CodeListing *listing = nullptr);

/// Reads and verifies `printLLVM` output in a separate context.
Result<IsaModule> readLlvm(const std::string &text, const InstructionSet &isa);

/// Options for code generation.
struct CodeOptions {
  CodeKind kind = CodeKind::Object;
  unsigned level = 2; ///< as in optimize()
  unsigned jobs = 0;  ///< max thread count; 0: one per core
  /// The IR was read from a file, so an LLVM crash is an error.
  bool guarded = false;
};

/// Optimizes and generates code: an object file or assembly for each
/// instruction set.
Result<std::vector<IsaObject>> generate(std::vector<IsaModule> modules,
                                        const CodeOptions &options,
                                        const StageProgress &progress);

} // namespace transom
