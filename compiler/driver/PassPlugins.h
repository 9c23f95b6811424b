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

/// Loads plug-ins in order, each once per process; they register their passes.
/// Returns each plug-in's file name with the SHA-256 of its bytes, for the
/// manifest. Errors: `Unavailable` for a file that cannot be read, `Rejected`
/// for a file that is not a plug-in for this compiler.
Result<std::vector<std::string>>
loadPassPlugins(const std::vector<std::string> &paths);

/// Runs plug-in passes at the extension point `point`; returns whether they
/// succeeded. `Rejected`, with the pass name, if one crashes.
Result<bool> runPluginPasses(mlir::PassManager &passes, mlir::ModuleOp module,
                             const std::string &point,
                             const std::vector<std::string> &plugins);

} // namespace transom
