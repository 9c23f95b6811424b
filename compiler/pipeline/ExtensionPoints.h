// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The places of the pipeline at which `transom compile` runs the passes of
// plug-ins. Each is a pass of the table of passes, so that it has a name, can
// be disabled, and is where `--start-at` and `--stop-after` may begin and end.
#pragma once
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include <functional>

namespace transom {

/// The flags of the places.
inline constexpr char attnShapedPoint[] = "extension-attn-shaped";
inline constexpr char attnFusedPoint[] = "extension-attn-fused";
inline constexpr char kernFusedPoint[] = "extension-kern-fused";

/// One place.
struct ExtensionPoint {
  llvm::StringLiteral flag;        ///< `extension-attn-fused`
  llvm::StringLiteral description; ///< what a pass may rely on there
};

/// All places, in the order of the pipeline.
llvm::ArrayRef<ExtensionPoint> getExtensionPoints();

/// True for the flag of a place.
bool isExtensionPoint(llvm::StringRef flag);

/// Adds passes to a pass manager on modules.
using ExtensionBuilder = std::function<void(mlir::OpPassManager &)>;

/// Makes every later compile of this process run passes at a place. Plug-ins
/// call it when they are loaded. Passes of several plug-ins run in the order of
/// the calls. Fails with a message on stderr for a flag that no place has.
mlir::LogicalResult registerExtension(llvm::StringRef flag,
                                      ExtensionBuilder builder);

/// The pass that runs what is registered for a place when it runs.
std::unique_ptr<mlir::Pass> createExtensionPass(llvm::StringRef flag);

/// Registers the passes of all places.
void registerExtensionPasses();

} // namespace transom
