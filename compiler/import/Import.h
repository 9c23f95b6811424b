// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Import: a model folder (config.json and safetensors) or a graph.json becomes
// a module of the attn dialect, one operation for each operation of the model.
// Weights stay in their files; only headers are read.
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

/// What to import.
struct ImportOptions {
  /// A folder with config.json (or graph.json), or the path of a graph.json.
  std::string path;
  /// Read config.json alone: tensors are taken to be there with the shapes that
  /// the config implies. The module can be looked at, not compiled. Without
  /// effect on a graph.json.
  bool configOnly = false;
  /// The task whose adapter is merged into the weights; empty: none.
  std::string task = "";
  ScoringOptions scoring = {};
  /// Hidden states that an entry gives: 0 is the embedding, n what layer n
  /// gives, and -1 the last hidden state. Empty: there is no such entry.
  std::vector<int64_t> layers = {};
  /// The folder of an adapter of PEFT that is merged into the weights; empty:
  /// none.
  std::string lora = "";
};

/// What the importer found besides the module. The module's `attn.info`
/// repeats what the manifest needs of it.
struct ImportInfo {
  std::string name;     ///< name of the model: its folder or graph
  std::string folder;   ///< where its files are
  std::string baseFile; ///< `config.json`, `gliner_config.json`,
                        ///< `modules.json`, or the graph's file name
  /// The small files that a file of another format has in it; nothing: they are
  /// in the folder.
  std::optional<FileTexts> texts;
  /// Why such a file has no tokenizer that can be read; empty: it has one.
  std::string tokenizerRefusal;
  std::string pooling;      ///< of embeddings, where such a file says it
  std::string family;       ///< `bert`, ..., or `graph`
  std::string architecture; ///< `BertForMaskedLM`, ...; of a graph its name
  ModelFiles files;         ///< the tensors that weights refer to
  /// What the model does not use: listed, ignored.
  std::vector<std::string> unusedTensors;
  /// Things a user may want to know: unknown keys, ignored parts.
  std::vector<std::string> notes;
  /// Plain names of all files that were read, for hashing.
  std::vector<std::string> inputFiles;
  /// The same of an adapter, with the prefix of its folder here: paths.
  std::vector<std::pair<std::string, std::string>> adapterFiles;
  uint64_t parameters = 0; ///< elements of the used tensors
  /// Shape of each used tensor by its name.
  std::map<std::string, std::vector<int64_t>> tensorShapes;
  /// Values of keys of generation_config.json that the model's class has.
  std::vector<GenerationDefault> generationDefaults;
  /// The pipeline of sentence-transformers that the folder has.
  std::optional<PipelineConfig> pipeline;
  /// How the model finds entities of types that are given at run time; the
  /// token before a type has the id -1 where only the tokenizer tells it.
  std::optional<ManifestEntities> entities;
  /// Number of used tensors of each type by safetensors name (`F32`).
  std::map<std::string, uint64_t> dtypes;

  /// The small files of the model.
  SmallFiles getSmallFiles() const {
    return texts ? SmallFiles(joinPath(folder, baseFile), *texts)
                 : SmallFiles(folder);
  }
};

/// Imports a model. Errors have the exit codes of the tool: `Rejected` for
/// malformed or inconsistent files, `Unsupported` for what is not supported,
/// `Unavailable` for missing files.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext &context, const ImportOptions &options,
            ImportInfo &info);

/// The entry that takes new rows of sequences; null where a module of the attn
/// dialect is no decoder, whatever the names of its entries are.
mlir::func::FuncOp getStepEntry(mlir::ModuleOp module);

/// The name of the input of a step with the rows whose logits are asked for:
/// the one of another role than ids.
std::string getLogitRows(mlir::func::FuncOp step);

/// True for the path of a config.json or of a folder that has a config.json and
/// no weights.
bool isConfigAlone(const std::string &path);

/// The values of `model_type` that are built, sorted.
std::vector<std::string> supportedModelTypes();

} // namespace transom
