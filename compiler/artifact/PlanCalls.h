// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest's description of steps that a library does.
#pragma once
#include "dialects/kern/Kern.h"
#include "runtime/manifest/Manifest.h"

namespace transom {

/// Describes a call: where its buffers and weights lie. `site` calls the layer
/// body that contains the call, null in an entry.
ManifestCall planCall(kern::OneDnnOp op, kern::LayersOp site,
                      const mlir::SymbolTable &symbols);

} // namespace transom
