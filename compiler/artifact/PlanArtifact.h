// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a planned kern module to what the artifact's writer needs.
#pragma once
#include "compiler/artifact/Artifact.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// The phases, entries, layer rows and weights of a planned module, and the
/// part of the manifest that follows from it: symbols, entries with their
/// buffers and steps, what `attn.info` says of the model.
Result<ArtifactPlan> planArtifact(mlir::ModuleOp module);

} // namespace transom
