// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extension points: positions in the pipeline at which `transom compile` runs
// plug-in passes. Each is an entry in the pass table, so it has a name, can be
// disabled, and may be used with `--start-at` and `--stop-after`.
#pragma once
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include <functional>

namespace transom {

/// The extension point flags.
inline constexpr char attnShapedPoint[] = "extension-attn-shaped";
inline constexpr char attnFusedPoint[] = "extension-attn-fused";
inline constexpr char kernFusedPoint[] = "extension-kern-fused";

/// One extension point.
struct ExtensionPoint {
  llvm::StringLiteral flag;        ///< `extension-attn-fused`
  llvm::StringLiteral description; ///< guarantees for passes at this point
};

/// All extension points, in pipeline order.
llvm::ArrayRef<ExtensionPoint> getExtensionPoints();

/// Returns true for an extension point flag.
bool isExtensionPoint(llvm::StringRef flag);

/// Adds passes to a pass manager on modules.
using ExtensionBuilder = std::function<void(mlir::OpPassManager &)>;

/// Registers passes that every later compile in this process runs at an
/// extension point. Plug-ins call it when they are loaded. Passes from several
/// plug-ins run in registration order. For an unknown flag it prints a message
/// to stderr and fails.
mlir::LogicalResult registerExtension(llvm::StringRef flag,
                                      ExtensionBuilder builder);

/// Creates the pass that runs the registered passes at an extension point.
std::unique_ptr<mlir::Pass> createExtensionPass(llvm::StringRef flag);

/// Registers all extension point passes.
void registerExtensionPasses();

} // namespace transom
