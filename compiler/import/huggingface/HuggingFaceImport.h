// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One import of a config.json: HuggingFace.cpp has the way from the config to
// the module, HuggingFaceHeads.cpp the head and its labels.
#pragma once
#include "compiler/import/gguf/GgufModel.h"
#include "compiler/import/huggingface/HeadSteps.h"
#include "compiler/import/huggingface/HuggingFace.h"
#include "compiler/import/huggingface/ModelConfig.h"
#include "compiler/import/huggingface/checkpoints/AdapterBase.h"
#include "compiler/import/huggingface/checkpoints/QuantizationConfig.h"
#include "compiler/import/huggingface/gliner/GlinerConfig.h"

namespace transom {

/// Symbols and their largest values, as `Emitter::finish` takes them.
using Symbols = std::vector<std::pair<std::string, int64_t>>;

/// A family, and what the config made of it: the head, and one config, or one
/// for each half.
struct ModelParts {
  const ModelFamily &family;
  const FamilyHead &head;
  const std::vector<ModelConfig> &models;
};

/// One import of a config.json.
class HuggingFaceImport {
public:
  /// `gliner`: of a GLiNER model, whose encoder has that config; else null.
  /// `gguf`: the file that the config was made from; null: a folder.
  HuggingFaceImport(mlir::MLIRContext &context, const ImportOptions &options,
                    ImportInfo &info, Config &config, GlinerConfig *gliner,
                    gguf::Model *gguf = nullptr)
      : info(info), config(config), gliner(gliner), gguf(gguf),
        options(options), builder(&context), context(context) {}
  Result<mlir::OwningOpRef<mlir::ModuleOp>> run();

private:
  Result<mlir::OwningOpRef<mlir::ModuleOp>>
  importFamily(const ModelFamily &family);
  /// The encoder of a GLiNER model, and the entry of scores.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> importGliner(ModelFamily family);
  /// The head that `architectures` names by stem + suffix.
  Result<const FamilyHead *> chooseHead(const ModelFamily &family);
  Result<void> readHeadInfo(const ModelFamily &family, const FamilyHead &head,
                            ModelConfig &model);
  /// `ModelConfig::classToken` of a head with labels.
  Result<std::optional<int64_t>> readClassToken(const ModelFamily &family);
  Result<std::string> findScoreActivation();
  Result<void> readScoreActivation();
  /// The config's errors, then the files; names in `info`.
  Result<void> openFiles(const std::string &family,
                         const std::string &architecture);
  Result<void> openGguf();
  /// How the checkpoint is quantized, into `quantization`.
  Result<void> readQuantization();
  /// Merges the adapter of the options into the files.
  Result<void> mergeLora(const AdapterBase &base);
  Result<void> addInputFiles();
  /// False where no files are read, or they cannot be.
  bool hasTensor(const std::string &name) const;
  void prepare(Emitter &emit);
  /// The file that the config is in.
  std::string getConfigFile() const {
    return gguf                        ? info.baseFile
           : gliner && gliner->encoder ? glinerFile
                                       : "config.json";
  }
  /// Builds the entries of the model; gives their symbols.
  Result<Symbols> build(Emitter &emit, const ModelParts &parts);
  /// Builds the entry of the pipeline, by the encoder or decoder of a family,
  /// unless it is refused.
  void buildPipelineEntry(Emitter &emit, const ModelParts &parts,
                          const ModelFamily &family, const ModelConfig &model);
  /// Builds the entry of the layers that are asked for.
  void buildStatesEntry(Emitter &emit, const ModelParts &parts,
                        const ModelFamily &family, const ModelConfig &model);
  /// What the manifest says of the lengths of an encoder's texts.
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
  llvm::SmallVector<mlir::NamedAttribute> extra; // of `attn.info`
};

} // namespace transom
