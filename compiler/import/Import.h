// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imports a model folder (config.json and safetensors) or a graph.json as an
// attn module with one operation for each model operation. Weights remain in
// their files; only headers are read.
#pragma once
#include "compiler/import/ScoringOptions.h"
#include "compiler/import/huggingface/GenerationSettings.h"
#include "compiler/import/huggingface/sentence_transformers/PipelineConfig.h"
#include "compiler/safetensors/Safetensors.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/base/Error.h"
#include "runtime/base/File.h"
#include "runtime/base/SmallFiles.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace transom {

/// Import options.
struct ImportOptions {
  /// A folder with config.json (or graph.json), or a graph.json path.
  std::string path;
  /// Reads only config.json: tensors are assumed to exist with the shapes that
  /// the config implies. The module can be inspected but not compiled. Ignored
  /// for a graph.json.
  bool configOnly = false;
  /// The task whose adapter is merged into the weights; empty: none.
  std::string task = "";
  ScoringOptions scoring = {};
  /// Hidden states returned by an additional entry: 0 is the embedding, n is
  /// layer n's output, and -1 the last hidden state. Empty: no such entry.
  std::vector<int64_t> layers = {};
  /// Folder with a PEFT adapter that is merged into the weights; empty: none.
  std::string lora = "";
};

/// Import results in addition to the module. The module's `attn.info` repeats
/// the data that the manifest needs.
struct ImportInfo {
  std::string name;     ///< model name: its folder or graph
  std::string folder;   ///< folder with its files
  std::string baseFile; ///< `config.json`, `gliner_config.json`,
                        ///< `modules.json`, or the graph's file name
  /// Small files that are embedded in another format's file; nullopt: they are
  /// in the folder.
  std::optional<FileTexts> texts;
  /// Reason why such a file has no readable tokenizer; empty: it has one.
  std::string tokenizerRefusal;
  std::string pooling;      ///< embedding pooling, if such a file specifies it
  std::string family;       ///< `bert`, ..., or `graph`
  std::string architecture; ///< `BertForMaskedLM`, ..., or a graph's name
  ModelFiles files;         ///< the tensors that weights refer to
  /// Tensors that the model does not use: listed, ignored.
  std::vector<std::string> unusedTensors;
  /// Notes for the user: unknown keys, ignored parts.
  std::vector<std::string> notes;
  /// Plain names of all input files, for hashing.
  std::vector<std::string> inputFiles;
  /// The same for an adapter, with its folder as prefix: paths.
  std::vector<std::pair<std::string, std::string>> adapterFiles;
  uint64_t parameters = 0; ///< element count in the used tensors
  /// Used tensor shapes, by name.
  std::map<std::string, std::vector<int64_t>> tensorShapes;
  /// Values for generation_config.json keys that the model class sets.
  std::vector<GenerationDefault> generationDefaults;
  /// The folder's sentence-transformers pipeline.
  std::optional<PipelineConfig> pipeline;
  /// Entity recognition settings; the id of the token before a type is -1 if
  /// only the tokenizer specifies it.
  std::optional<ManifestEntities> entities;
  /// Used tensor count by safetensors type name (`F32`).
  std::map<std::string, uint64_t> dtypes;

  /// The model's small files.
  SmallFiles getSmallFiles() const {
    return texts ? SmallFiles(joinPath(folder, baseFile), *texts)
                 : SmallFiles(folder);
  }
};

/// Imports a model. Errors have the tool's exit codes: `Rejected` for malformed
/// or inconsistent files, `Unsupported` for unsupported features, `Unavailable`
/// for missing files.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext &context, const ImportOptions &options,
            ImportInfo &info);

/// Returns the entry that takes new sequence rows, whatever its name; null if
/// the attn module is not a decoder.
mlir::func::FuncOp getStepEntry(mlir::ModuleOp module);

/// Returns the name of the step input with the rows whose logits are requested:
/// the input whose role is not ids.
std::string getLogitRows(mlir::func::FuncOp step);

/// Returns true for a config.json path or a folder with a config.json and no
/// weights.
bool isConfigAlone(const std::string &path);

/// Returns the supported `model_type` values, sorted.
std::vector<std::string> supportedModelTypes();

} // namespace transom
