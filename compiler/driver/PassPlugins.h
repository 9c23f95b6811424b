// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plug-ins whose passes run at the extension points of the pipeline.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/base/Error.h"
#include <string>
#include <vector>

namespace transom {

/// Loads plug-ins, once in a process each, in order; they register their
/// passes. Gives for each its file's name with the sha256 of its bytes, for the
/// manifest. `Unavailable` for a file that cannot be read, `Rejected` for one
/// that is not a plug-in for this compiler.
Result<std::vector<std::string>>
loadPassPlugins(const std::vector<std::string> &paths);

/// Runs passes of plug-ins at the place `point`; whether they succeeded.
/// `Rejected`, with the name of the pass, for one that crashes.
Result<bool> runPluginPasses(mlir::PassManager &passes, mlir::ModuleOp module,
                             const std::string &point,
                             const std::vector<std::string> &plugins);

} // namespace transom
