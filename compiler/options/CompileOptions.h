// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of a compile. The header needs neither LLVM nor MLIR.
#pragma once
#include "compiler/import/ScoringOptions.h"
#include "compiler/import/tokenizer/Shortlist.h"
#include "compiler/pipeline/StageTable.h"
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace transom {

/// How far a compile is.
struct CompileProgress {
  const char *stage; ///< `import`, `optimize`, `code`, `weights`, ...
  /// How much of the stage is done: passes of `optimize`, `plan` and `lower`,
  /// functions of `code`, bytes of `weights`. Both are 0 where that is not
  /// known.
  uint64_t done = 0;
  uint64_t total = 0;
};

/// What to compile and how.
struct CompileOptions {
  std::string model;      ///< a model folder or a graph.json
  std::string output;     ///< the file to write; may be empty for a text stage
  Stage emit = Stage::So; ///< the last stage
  /// Print the location of each operation in the text of a stage.
  bool emitLocations = false;
  /// Who does products, softmax and norms: `native` code or `onednn`.
  std::string backend = "native";
  std::vector<std::string> targets; ///< `--target`; empty: all
  /// Type of weights and of what products and attention read: `f32`, `bf16`.
  std::string dtype = "f32";
  /// Type of cached keys and values, one of `getCacheOptions()`; empty: `dtype`
  /// if it is one of them, else `f32`.
  std::string kvDtype;
  /// How weights of products and what they multiply are quantized: `int8`;
  /// empty: as the model has them; `none`: not these either.
  std::string quantize;
  /// The same for the output head; empty: as `quantize`.
  std::string quantizeHead;
  /// The same for tables of embeddings that no product reads; empty: `int8`
  /// where `quantize` is a format, else as the model has them.
  std::string quantizeEmbeddings;
  /// What products with quantized weights multiply: `int8`, or `f32`; empty:
  /// `int8`.
  std::string activations;
  /// Numbers along K with one scale, one of `quantizedGroups`; 0: as the type
  /// has it.
  unsigned groupSize = 0;
  /// A file of texts, one a line, that say which numbers of quantized weights
  /// have to be exact; empty: all count alike.
  std::string calibrate;
  /// How attention divides its work: a schedule of `kern.attention`, optionally
  /// with the most query rows of a work item, `streaming:12`. Results are the
  /// same for all schedules.
  std::string attentionSchedule = "auto";
  /// Add an entry that returns the weights of attention.
  bool attention = false;
  /// The layers and heads whose weights it returns, ascending; empty: all.
  std::vector<int64_t> attentionLayers, attentionHeads;
  std::vector<std::string> disabledPasses;
  /// Files of plug-ins whose passes run at the extension points.
  std::vector<std::string> passPlugins;
  /// The task whose adapter is merged into the weights; empty: none.
  std::string task;
  /// The folder of an adapter of PEFT that is merged; empty: none.
  std::string lora;
  ShortlistOptions shortlist; ///< of a translator; without a file it has none
  /// The step also gives the logits of listed tokens, as it does with a
  /// shortlist.
  bool listedLogits = false;
  ScoringOptions scoring; ///< without a true token pairs are not scored
  /// Hidden states that an entry gives, as in ImportOptions; empty: none.
  std::vector<int64_t> layers;
  /// Leave generation_config.json out.
  bool ignoreGenerationConfig = false;
  /// Options as given, for the manifest.
  std::vector<std::pair<std::string, std::string>> flags;
  /// 2, or 0: LLVM optimizes nothing, which compiles faster and gives slow code
  /// of the same results.
  unsigned optLevel = 2;
  /// Write line tables and, beside the output, the listing that they refer to.
  bool debugInfo = false;
  uint64_t memLimit = 0; ///< most bytes the compile may take; 0: no limit
  unsigned jobs = 0;     ///< threads that generate code; 0: one a core
  /// Write and read back LLVM IR too, as is always done with modules of MLIR.
  bool checkRoundTrip = false;
  /// A folder that gets a file of each stage and an index; empty: none.
  std::string stagesFolder;
  /// Where to go on: a file of such a folder, or FOLDER/STAGE. `model` still
  /// gives weights, tokenizer and settings. Empty: from the model.
  std::string resumeFrom;
  /// Passes after which the module is printed, `cse:2`.
  std::vector<std::string> printAfter;
  /// Print the module after each pass that changes it.
  bool printChanged = false;
  /// Gets the modules that are printed.
  std::function<void(const std::string &)> print;
  /// Check all passes first, and write the certificate into the manifest. A
  /// difference ends the compile.
  bool certify = false;
  std::string certificate; ///< JSON, for the manifest
  /// Measure passes, for `CompileReport::passes`.
  bool timePasses = false;
  /// Called from the compiling thread; false stops the compile.
  std::function<bool(const CompileProgress &)> progress;
};

} // namespace transom
