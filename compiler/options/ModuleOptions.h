// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compile options as module attributes for the passes. In a written stage the
// attributes record the options it was compiled with.
#pragma once
#include "compiler/options/CompileOptions.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// Rejects options that are unknown, contradict each other or lack an output.
Result<void> checkOptions(const CompileOptions &options);

/// Rejects decoder caches that round keys and values differently from the
/// attention weights entry, which has no cache.
Result<void> checkCachesBesideAttention(const CompileOptions &options);

/// Returns the cache type. Without `--kv-dtype` it is the weight type if caches
/// support it, else f32.
std::string getCacheType(const CompileOptions &options);

/// Sets the option attributes.
void setModuleOptions(mlir::ModuleOp module, const CompileOptions &options);

/// Compares the attributes of a stage's module with the options. Errors:
/// `Usage` if they differ, `Rejected` for a module without attributes; `file`
/// is its name. Passes that run after the stage may differ.
Result<void> checkModuleOptions(mlir::ModuleOp module, Stage stage,
                                const CompileOptions &options,
                                const std::string &file);

/// Checks that there is an attention weights entry, with all requested layers
/// and heads.
Result<void> checkAttentionEntry(mlir::ModuleOp module,
                                 const CompileOptions &options);

/// Returns true if the module has weights stored as integers in files.
bool hasStoredWeights(mlir::ModuleOp module);
/// Dequantizes stored integers if the options request it, in a module that was
/// just imported; otherwise rejects options that are incompatible with them.
Result<void> prepareStoredWeights(mlir::ModuleOp module,
                                  const CompileOptions &options);

} // namespace transom
