// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compile options. The header needs neither LLVM nor MLIR.
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

/// The progress of a compile.
struct CompileProgress {
  const char *stage; ///< `import`, `optimize`, `code`, `weights`, ...
  /// Completed work in the stage: passes in `optimize`, `plan` and `lower`,
  /// functions in `code`, bytes in `weights`. Both are 0 if unknown.
  uint64_t done = 0;
  uint64_t total = 0;
};

/// All options for a compile.
struct CompileOptions {
  std::string model;      ///< a model folder or a graph.json
  std::string output;     ///< the output file; may be empty for a text stage
  Stage emit = Stage::So; ///< the last stage
  /// Print operation locations if the stage is emitted as text.
  bool emitLocations = false;
  /// The implementation for GEMMs, softmax and norms: `native` or `onednn`.
  std::string backend = "native";
  std::vector<std::string> targets; ///< `--target`; empty: all
  /// The type for weights and for GEMM and attention inputs: `f32`, `bf16`.
  std::string dtype = "f32";
  /// The type for cached keys and values, one of `getCacheOptions()`; empty:
  /// `dtype` if it is one of them, else `f32`.
  std::string kvDtype;
  /// The quantization for GEMM weights and their inputs: `int8`, `int4`; empty:
  /// as stored in the model; `none`: dequantize stored integers too.
  std::string quantize;
  /// Same as `quantize`, for the output head; empty: equal to `quantize`.
  std::string quantizeHead;
  /// Same as `quantize`, for embedding tables that no GEMM reads; empty: `int8`
  /// if `quantize` is a format, else as stored in the model.
  std::string quantizeEmbeddings;
  /// The type for inputs to GEMMs with quantized weights: `int8` or `f32`;
  /// empty: `int8`.
  std::string activations;
  /// The quantization group size along K, one of `quantizedGroups`; 0: the
  /// type's default.
  unsigned groupSize = 0;
  /// A file of sample texts, one per line, that determine the importance of
  /// GEMM input columns for quantization; empty: all are equal.
  std::string calibrate;
  /// The parallelization in attention: a schedule for `kern.attention`,
  /// optionally with the max query rows per work item, `streaming:12`. Results
  /// are the same for all schedules.
  std::string attentionSchedule = "auto";
  /// Add an entry that returns the attention weights.
  bool attention = false;
  /// The layers and heads for this entry, ascending; empty: all.
  std::vector<int64_t> attentionLayers, attentionHeads;
  std::vector<std::string> disabledPasses;
  /// Plug-in files whose passes run at the extension points.
  std::vector<std::string> passPlugins;
  /// The task whose adapter is merged into the weights; empty: none.
  std::string task;
  /// The folder of a PEFT adapter that is merged; empty: none.
  std::string lora;
  ShortlistOptions shortlist; ///< for a translator; without a file it has none
  /// Add step results with the logits for selected tokens, as with a shortlist.
  bool listedLogits = false;
  ScoringOptions scoring; ///< without a true token, pairs are not scored
  /// Hidden states that an entry returns, as in ImportOptions; empty: none.
  std::vector<int64_t> layers;
  /// Ignore generation_config.json.
  bool ignoreGenerationConfig = false;
  /// Options as given, for the manifest.
  std::vector<std::pair<std::string, std::string>> flags;
  /// 2, or 0: LLVM does not optimize, which compiles faster and gives slower
  /// code with the same results.
  unsigned optLevel = 2;
  /// Write line tables and, next to the output, the listing that they refer to.
  bool debugInfo = false;
  uint64_t memLimit = 0; ///< max memory in bytes; 0: no limit
  unsigned jobs = 0;     ///< max code generation threads; 0: one per core
  /// Also write and read back LLVM IR, as is always done with MLIR modules.
  bool checkRoundTrip = false;
  /// A folder that receives a file for each stage and an index; empty: none.
  std::string stagesFolder;
  /// The resume point: a file in a stage folder, or FOLDER/STAGE. `model` still
  /// provides weights, tokenizer and settings. Empty: start from the model.
  std::string resumeFrom;
  /// Passes after which the module is printed, `cse:2`.
  std::vector<std::string> printAfter;
  /// Print the module after each pass that changes it.
  bool printChanged = false;
  /// Receives the printed modules.
  std::function<void(const std::string &)> print;
  /// Verify all passes first, and write the certificate into the manifest. A
  /// difference ends the compile.
  bool certify = false;
  std::string certificate; ///< JSON, for the manifest
  /// Measure passes, for `CompileReport::passes`.
  bool timePasses = false;
  /// Called from the compiling thread; returning false stops the compile.
  std::function<bool(const CompileProgress &)> progress;
};

} // namespace transom
