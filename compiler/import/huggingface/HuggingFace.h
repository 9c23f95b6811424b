// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imports a Hugging Face model folder.
#pragma once
#include "compiler/import/Import.h"

namespace transom {

/// Imports the model in `info.folder`, whose config.json, gliner_config.json or
/// GGUF file exists, and fills in `info`. The path in `options` is not read.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
importHuggingFace(mlir::MLIRContext &context, const ImportOptions &options,
                  ImportInfo &info);

} // namespace transom
