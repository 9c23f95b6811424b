// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Manifest descriptions for steps that run in a library.
#pragma once
#include "dialects/kern/Kern.h"
#include "runtime/manifest/Manifest.h"

namespace transom {

/// Describes a call: the locations of its buffers and weights. `site` calls the
/// layer body that contains the call; null in an entry.
ManifestCall planCall(kern::OneDnnOp op, kern::LayersOp site,
                      const mlir::SymbolTable &symbols);

} // namespace transom
