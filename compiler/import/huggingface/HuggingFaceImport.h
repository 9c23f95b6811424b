// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imports a config.json: HuggingFace.cpp converts the config to a module,
// HuggingFaceHeads.cpp selects the head and its labels.
#pragma once
#include "compiler/import/gguf/GgufModel.h"
#include "compiler/import/huggingface/HeadSteps.h"
#include "compiler/import/huggingface/HuggingFace.h"
#include "compiler/import/huggingface/ModelConfig.h"
#include "compiler/import/huggingface/checkpoints/AdapterBase.h"
#include "compiler/import/huggingface/checkpoints/QuantizationConfig.h"
#include "compiler/import/huggingface/gliner/GlinerConfig.h"

namespace transom {

/// Symbols and their max values, as for `Emitter::finish`.
using Symbols = std::vector<std::pair<std::string, int64_t>>;

/// A family and the data read from the config: the head, and one config, or one
/// for each half.
struct ModelParts {
  const ModelFamily &family;
  const FamilyHead &head;
  const std::vector<ModelConfig> &models;
};

/// Imports one config.json.
class HuggingFaceImport {
public:
  /// `gliner`: the GLiNER model whose encoder has this config; null for others.
  /// `gguf`: the file that the config was created from; null: a folder.
  HuggingFaceImport(mlir::MLIRContext &context, const ImportOptions &options,
                    ImportInfo &info, Config &config, GlinerConfig *gliner,
                    gguf::Model *gguf = nullptr)
      : info(info), config(config), gliner(gliner), gguf(gguf),
        options(options), builder(&context), context(context) {}
  Result<mlir::OwningOpRef<mlir::ModuleOp>> run();

private:
  Result<mlir::OwningOpRef<mlir::ModuleOp>>
  importFamily(const ModelFamily &family);
  /// Imports a GLiNER model: its encoder and the score entry.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> importGliner(ModelFamily family);
  /// Selects the head that `architectures` names as stem + suffix.
  Result<const FamilyHead *> chooseHead(const ModelFamily &family);
  Result<void> readHeadInfo(const ModelFamily &family, const FamilyHead &head,
                            ModelConfig &model);
  /// Returns `ModelConfig::classToken` for a head with labels.
  Result<std::optional<int64_t>> readClassToken(const ModelFamily &family);
  Result<std::string> findScoreActivation();
  Result<void> readScoreActivation();
  /// Reports config errors, then opens the files; fills in names in `info`.
  Result<void> openFiles(const std::string &family,
                         const std::string &architecture);
  Result<void> openGguf();
  /// Reads the checkpoint's quantization into `quantization`.
  Result<void> readQuantization();
  /// Merges the adapter given in the options into the files.
  Result<void> mergeLora(const AdapterBase &base);
  Result<void> addInputFiles();
  /// Returns false if no files are read, or they cannot be read.
  bool hasTensor(const std::string &name) const;
  void prepare(Emitter &emit);
  /// Returns the name of the file with the config.
  std::string getConfigFile() const {
    return gguf                        ? info.baseFile
           : gliner && gliner->encoder ? glinerFile
                                       : "config.json";
  }
  /// Builds the model entries and returns their symbols.
  Result<Symbols> build(Emitter &emit, const ModelParts &parts);
  /// Builds the pipeline entry, based on a family's encoder or decoder, unless
  /// the pipeline is refused.
  void buildPipelineEntry(Emitter &emit, const ModelParts &parts,
                          const ModelFamily &family, const ModelConfig &model);
  /// Builds the entry for the requested layers.
  void buildStatesEntry(Emitter &emit, const ModelParts &parts,
                        const ModelFamily &family, const ModelConfig &model);
  /// Records the text length limits of an encoder for the manifest.
  void setLengths(const ModelFamily &family, const ModelConfig &model);
  void set(llvm::StringRef name, mlir::Attribute value) {
    extra.push_back(builder.getNamedAttr(name, value));
  }

  ImportInfo &info;
  Config &config;
  GlinerConfig *gliner;
  gguf::Model *gguf;
  const ImportOptions &options;
  std::optional<QuantizationConfig> quantization;
  mlir::OpBuilder builder;
  mlir::MLIRContext &context;
  llvm::SmallVector<mlir::NamedAttribute> extra; // for `attn.info`
};

} // namespace transom
