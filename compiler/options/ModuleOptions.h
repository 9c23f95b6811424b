// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of a compile as attributes of its module, which tell the passes. The
// module of a stage that was written says with them what it was compiled with.
#pragma once
#include "compiler/options/CompileOptions.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// An error for options that are unknown, contradict each other or have no
/// output.
Result<void> checkOptions(const CompileOptions &options);

/// An error if the caches of a decoder round keys and values in another way
/// than the entry with weights of attention, which has none.
Result<void> checkCachesBesideAttention(const CompileOptions &options);

/// The type of caches. Without `--kv-dtype` it is that of weights if caches
/// support it, else f32.
std::string getCacheType(const CompileOptions &options);

/// Sets the attributes of the options.
void setModuleOptions(mlir::ModuleOp module, const CompileOptions &options);

/// `Usage` for the module of a stage whose attributes are of other options,
/// `Rejected` for one without; `file` is its name. Passes after the stage may
/// be left out freely.
Result<void> checkModuleOptions(mlir::ModuleOp module, Stage stage,
                                const CompileOptions &options,
                                const std::string &file);

/// An error unless there is an entry with weights of attention, and in it all
/// layers and heads that are asked for.
Result<void> checkAttentionEntry(mlir::ModuleOp module,
                                 const CompileOptions &options);

/// True for a module with weights that files have as whole numbers.
bool hasStoredWeights(mlir::ModuleOp module);
/// Makes floats of such weights where the options say so, in a module that was
/// just imported, and else refuses options that do not go with them.
Result<void> prepareStoredWeights(mlir::ModuleOp module,
                                  const CompileOptions &options);

} // namespace transom
