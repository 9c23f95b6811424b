// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text processing for a model: the folder's tokenizer, and the
// sentence-transformers settings for lengths and the pipeline.
#pragma once
#include "compiler/import/huggingface/sentence_transformers/PipelineConfig.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include "runtime/base/Error.h"
#include "runtime/base/SmallFiles.h"
#include "runtime/manifest/Manifest.h"
#include <string>
#include <vector>

namespace transom {

/// Data for the text commands.
struct TextConfig {
  std::string tokenizer; ///< tokenizer tables; empty without a usable tokenizer
  ManifestText manifest;
  std::vector<std::string> files; ///< files read, relative to the folder
  std::vector<std::string> notes;
};

/// Reads a model's text files. `modelMax` is the model's max input length (0:
/// no limit). A missing or unsupported tokenizer causes a note (a missing one
/// only if `textExpected`), a malformed file an error, and so does a vocab.json
/// with ids that `model` does not have. `pipeline` (null: none) is refused if
/// its text preparation is not supported. `entities` (null: none) specifies
/// entity recognition; its token ids are filled in. Such a model requires a
/// tokenizer.
Result<TextConfig> readTextConfig(const SmallFiles &files, int64_t modelMax,
                                  bool textExpected,
                                  const ModelVocabulary &model = {},
                                  PipelineConfig *pipeline = nullptr,
                                  const ManifestEntities *entities = nullptr);

} // namespace transom
