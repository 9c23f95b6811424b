// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines of sentence-transformers whose first module is a StaticEmbedding: a
// table with a vector for each id, whose mean is the embedding of a text. The
// folder needs no config.json.
#pragma once
#include "compiler/import/huggingface/Encoder.h"

namespace transom {

/// Imports the pipeline of `info.folder`, and fills `info`.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
importStaticEmbedding(mlir::MLIRContext &context, const ImportOptions &options,
                      ImportInfo &info);

/// Begins the entry with token ids and the padding mask; the state is the
/// vectors of the tokens.
EncoderStart beginStaticEmbedding(BlockContext &context,
                                  const PipelineModule &module,
                                  const std::string &name);

} // namespace transom
