// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry of a pipeline of sentence-transformers: the base model and the
// modules after it, in one function.
#pragma once
#include "compiler/import/huggingface/blocks/Blocks.h"
#include "compiler/import/huggingface/sentence_transformers/PipelineConfig.h"

namespace transom {

/// Adds the tensors of the modules' folders to those of the model, each under
/// `FOLDER/NAME`. A folder without safetensors refuses the pipeline.
Result<void> addPipelineFiles(ModelFiles &files, PipelineConfig &pipeline);

/// The pipeline that the options make of a folder without modules.json:
/// a Transformer and a LogitScore of the tokens. `Usage` for a token that the
/// tokenizer does not have, `Unsupported` for a chat template that a pair does
/// not fit in.
Result<PipelineConfig> makeScoringPipeline(const std::string &folder,
                                           const ScoringOptions &options);

/// Writes the entry, with the kind `embed`. `context` is of an encoder, or of a
/// decoder, whose tokens then see those before them. Errors are the emitter's.
void buildPipeline(BlockContext &context, const PipelineConfig &pipeline);

} // namespace transom
