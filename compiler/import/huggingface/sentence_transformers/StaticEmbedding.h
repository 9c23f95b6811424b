// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sentence-transformers pipelines whose first module is a StaticEmbedding: a
// table with a vector for each id; the text embedding is their mean. The folder
// needs no config.json.
#pragma once
#include "compiler/import/huggingface/Encoder.h"

namespace transom {

/// Imports the pipeline in `info.folder` and fills in `info`.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
importStaticEmbedding(mlir::MLIRContext &context, const ImportOptions &options,
                      ImportInfo &info);

/// Begins the entry with token ids and the padding mask; the state contains the
/// token vectors.
EncoderStart beginStaticEmbedding(BlockContext &context,
                                  const PipelineModule &module,
                                  const std::string &name);

} // namespace transom
