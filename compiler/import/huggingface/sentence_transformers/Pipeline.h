// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipeline entry for sentence-transformers: the base model and the following
// modules in one function.
#pragma once
#include "compiler/import/huggingface/blocks/Blocks.h"
#include "compiler/import/huggingface/sentence_transformers/PipelineConfig.h"

namespace transom {

/// Adds the tensors in the module folders to the model's tensors, with names
/// `FOLDER/NAME`. A folder without safetensors refuses the pipeline.
Result<void> addPipelineFiles(ModelFiles &files, PipelineConfig &pipeline);

/// Creates the pipeline from the options for a folder without modules.json: a
/// Transformer and a LogitScore for the tokens. `Usage` for a token that the
/// tokenizer does not have, `Unsupported` for a chat template that cannot
/// represent a pair.
Result<PipelineConfig> makeScoringPipeline(const std::string &folder,
                                           const ScoringOptions &options);

/// Builds the entry, with the kind `embed`. `context` belongs to an encoder or
/// a decoder, whose tokens then attend to the tokens before them. Errors are
/// recorded in the emitter.
void buildPipeline(BlockContext &context, const PipelineConfig &pipeline);

} // namespace transom
