// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table is `embedding.weight` in sentence-transformers' format, or
// `embeddings` in model2vec's, which may store a factor for each token.
#include "compiler/import/huggingface/sentence_transformers/StaticEmbedding.h"
#include "compiler/import/huggingface/sentence_transformers/Pipeline.h"
#include "runtime/base/File.h"

using namespace mlir;
using namespace transom;

namespace {

/// A table's tensors, by name in the files.
struct VectorTable {
  std::string vectors; ///< [ids, width]
  std::string factors; ///< [ids]; empty: none
  int64_t ids = 0, width = 0;
};

} // namespace

/// Returns the name of a module's tensor; a folder's tensors have the folder as
/// prefix.
static std::string getTensor(const PipelineModule &module, const char *name) {
  return module.path.empty() ? name : module.path + "/" + name;
}

/// Finds the table. As in sentence-transformers, its own key takes precedence
/// over model2vec's.
static Result<VectorTable> findTable(const ModelFiles &files,
                                     const PipelineModule &module) {
  VectorTable table;
  table.vectors = getTensor(module, "embedding.weight");
  if (!files.find(table.vectors)) {
    table.vectors = getTensor(module, "embeddings");
    if (const std::string name = getTensor(module, "mapping"); files.find(name))
      return unsupported(files.getFile(name) +
                         ": tensor 'mapping': a table in which tokens share "
                         "vectors is not supported; supported: a vector for "
                         "each token");
    if (const std::string name = getTensor(module, "weights"); files.find(name))
      table.factors = name;
  }
  const SafetensorsTensor *tensor = files.find(table.vectors);
  if (!tensor)
    return rejected(joinPath(files.folder(), getTensor(module, "")) +
                    "model.safetensors: no tensor 'embedding.weight' and no "
                    "'embeddings', of which a StaticEmbedding has one");
  if (tensor->shape.size() != 2 || !tensor->shape[0] || !tensor->shape[1])
    return rejected(files.getFile(table.vectors) + ": tensor '" + tensor->name +
                    "' has " + std::to_string(tensor->shape.size()) +
                    " dimensions, expected a matrix with a row for each token");
  table.ids = tensor->shape[0];
  table.width = tensor->shape[1];
  return table;
}

EncoderStart transom::beginStaticEmbedding(BlockContext &context,
                                           const PipelineModule &module,
                                           const std::string &name) {
  Emitter &emit = context.emit;
  Result<VectorTable> table = findTable(context.files, module);
  if (!table) {
    emit.fail(table.takeError());
    return {};
  }

  // Inputs.
  context.tokens = {Polynomial::symbol("batch"), Polynomial::symbol("seq")};
  emit.at(name, "/0");
  SmallVector<Value> arguments = emit.beginEntry(
      name, {{"input_ids", DType::I64, context.tokens, "ids", table->ids, {}},
             {"attention_mask", DType::I64, context.tokens, "mask", {}, 1}});
  emit.at("attention_mask", "/0");
  context.visible = emit.cast(arguments[1], DType::Bool);

  // Gather the vectors.
  emit.at(module.name, "/0");
  Value vectors = emit.embedding(
      arguments[0],
      emit.fileWeight(table->vectors, table->vectors,
                      std::vector<int64_t>{table->ids, table->width}),
      1);
  if (!table->factors.empty() &&
      emit.checkTensor(table->factors, std::vector<int64_t>{table->ids},
                       "rows of 'embeddings'")) {
    Value factors = emit.weight(
        table->factors,
        WeightExpr::reshape(WeightExpr::file(table->factors), {table->ids, 1}));
    vectors = emit.make<attn::MulOp>(vectors,
                                     emit.embedding(arguments[0], factors, 1));
  }
  return {std::move(arguments), vectors};
}

/// Opens the table's files, which may be in a module folder.
static Result<ModelFiles> openTable(const std::string &folder,
                                    const PipelineModule &module) {
  // The error names the files found instead of safetensors.
  TRANSOM_ASSIGN(ModelFiles files,
                 ModelFiles::openFolder(joinPath(folder, module.path)));
  if (module.path.empty())
    return files;
  TRANSOM_ASSIGN(ModelFiles ofFolder, ModelFiles::openFiles(folder, {}));
  TRANSOM_TRY(ofFolder.addModule(module.path));
  return ofFolder;
}

Result<OwningOpRef<ModuleOp>>
transom::importStaticEmbedding(MLIRContext &context,
                               const ImportOptions &options, ImportInfo &info) {
  if (!options.lora.empty())
    return usageError("'--lora' is not supported for a table of vectors");
  if (!options.task.empty())
    return usageError("'--task " + options.task +
                      "': a StaticEmbedding has no adapters");
  TRANSOM_ASSIGN(info.pipeline, readPipelineConfig(info.folder));
  PipelineConfig &pipeline = *info.pipeline;
  // There is no model without the pipeline.
  const PipelineModule *module = pipeline.getStaticEmbedding();
  if (module && pipeline.refusal.empty()) {
    TRANSOM_ASSIGN(info.files, openTable(info.folder, *module));
    TRANSOM_TRY(addPipelineFiles(info.files, pipeline));
  }
  if (!pipeline.refusal.empty())
    return unsupported(joinPath(info.folder, pipeline.refusal));
  info.family = "static_embedding";
  info.architecture = "StaticEmbedding";
  info.inputFiles = info.files.fileNames();

  // Its modules do not depend on a family.
  const ModelFamily family = {
      "static_embedding", "StaticEmbedding", "", {}, {}, {}};
  const FamilyHead head = {"", "embedding", false, {}};
  const ModelConfig config{};
  Emitter emit(context, info.files, info.baseFile);
  BlockContext blocks(emit, info.files, family, head, config);
  buildPipeline(blocks, pipeline);
  OpBuilder builder(&context);
  emit.finish(info, {{"batch", -1}, {"seq", -1}},
              {builder.getNamedAttr("head", builder.getStringAttr(head.kind))});
  return emit.take();
}
