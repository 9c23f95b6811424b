// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How texts go through a model: the tokenizer of its folder, and what the
// files of sentence-transformers say about lengths and the pipeline.
#pragma once
#include "compiler/import/huggingface/sentence_transformers/PipelineConfig.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include "runtime/base/Error.h"
#include "runtime/base/SmallFiles.h"
#include "runtime/manifest/Manifest.h"
#include <string>
#include <vector>

namespace transom {

/// What the text commands need.
struct TextConfig {
  std::string tokenizer; ///< tables; empty without a usable tokenizer
  ManifestText manifest;
  std::vector<std::string> files; ///< that were read, in the folder
  std::vector<std::string> notes;
};

/// Reads the text files of a model. `modelMax` is the longest input
/// that the model takes (0: no limit). A tokenizer that is missing or not
/// built gives a note (a missing one only where `textExpected`), a malformed
/// file an error, and so does a vocab.json with ids that `model` does not have.
/// `pipeline` (null: none) is refused where texts cannot be given to it as its
/// files say. `entities` (null: none) says how entities are found; its tokens
/// are looked up. Such a model is nothing without a tokenizer.
Result<TextConfig> readTextConfig(const SmallFiles &files, int64_t modelMax,
                                  bool textExpected,
                                  const ModelVocabulary &model = {},
                                  PipelineConfig *pipeline = nullptr,
                                  const ManifestEntities *entities = nullptr);

} // namespace transom
