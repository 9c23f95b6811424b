// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans an artifact from a planned kern module.
#pragma once
#include "compiler/artifact/Artifact.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// Returns the phases, entries, layer rows and weights in a planned module, and
/// the manifest fields that follow from it: symbols, entries with buffers and
/// steps, model facts from `attn.info`.
Result<ArtifactPlan> planArtifact(mlir::ModuleOp module);

} // namespace transom
