// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for each module kind, which takes the previous module's output.
#include "compiler/import/huggingface/sentence_transformers/Pipeline.h"
#include "compiler/import/huggingface/Encoder.h"
#include "compiler/import/huggingface/sentence_transformers/PipelineReader.h"
#include "compiler/import/huggingface/sentence_transformers/StaticEmbedding.h"
#include "compiler/import/huggingface/sentence_transformers/TorchActivations.h"
#include "runtime/base/File.h"
#include <cmath>

using namespace mlir;
using namespace transom;

Result<void> transom::addPipelineFiles(ModelFiles &files,
                                       PipelineConfig &pipeline) {
  for (const PipelineModule &module : pipeline.modules) {
    if (module.kind != PipelineModule::Kind::Dense &&
        module.kind != PipelineModule::Kind::LayerNorm)
      continue;
    const std::string name = module.path + "/model.safetensors";
    if (fileExists(joinPath(files.folder(), name)))
      TRANSOM_TRY(files.addModule(module.path));
    else
      pipeline.refuse("modules.json: module '" + module.name + "' has no " +
                      name + "; other formats are not read");
  }
  return {};
}

namespace {

/// Builds one pipeline's modules.
class PipelineBlock {
public:
  PipelineBlock(BlockContext &context, const PipelineConfig &pipeline)
      : context(context), emit(context.emit), pipeline(pipeline) {}
  void build();

private:
  Value build(const PipelineModule &module, Value input);
  Value pool(const PipelineModule &module, Value tokens);
  Value project(const PipelineModule &module, Value input);
  Value normalizeLayer(const PipelineModule &module, Value input);
  Value normalizeLength(const PipelineModule &module, Value input);
  Value poolSparse(const PipelineModule &module, Value logits);
  Value scorePairs(Value tokens);
  /// Pools each sequence to one vector, with a kind from `attn.pool`.
  Value pool(Value tokens, StringRef kind);
  /// Returns a module's tensor; `sizes` are the config keys that determine its
  /// shape.
  Value parameter(const PipelineModule &module, const std::string &name,
                  std::vector<int64_t> shape, const std::string &sizes);
  /// Returns false, with an error, if a module expects another width.
  bool checkWidth(const PipelineModule &module, const char *key, Value input);

  BlockContext &context;
  Emitter &emit;
  const PipelineConfig &pipeline;
  Value pooled; ///< bool [batch, seq], pooled tokens
};

} // namespace

Value PipelineBlock::parameter(const PipelineModule &module,
                               const std::string &name,
                               std::vector<int64_t> shape,
                               const std::string &sizes) {
  const std::string tensor = module.path + "/" + name;
  return emit.fileWeight(tensor, tensor, std::move(shape), sizes);
}

bool PipelineBlock::checkWidth(const PipelineModule &module, const char *key,
                               Value input) {
  if (emit.failed())
    return false;
  const int64_t width = context.getWidth(input);
  if (width == module.in)
    return true;
  emit.fail(rejected(module.path + "/config.json: '/" + key +
                     "': " + std::to_string(module.in) +
                     ", but the module before it gives vectors of " +
                     std::to_string(width)));
  return false;
}

Value PipelineBlock::pool(Value tokens, StringRef kind) {
  return emit.make<attn::PoolOp>(tokens, pooled, Value(),
                                 *attn::symbolizePoolKind(kind),
                                 attn::SizeAttr());
}

Value PipelineBlock::pool(const PipelineModule &module, Value tokens) {
  SmallVector<Value> vectors;
  for (const std::string &kind : module.pooling)
    vectors.push_back(pool(tokens, kind));
  if (vectors.size() == 1 || emit.failed())
    return vectors.front();
  return emit.make<attn::ConcatOp>(vectors, uint64_t(1));
}

Value PipelineBlock::project(const PipelineModule &module, Value input) {
  if (!checkWidth(module, "in_features", input))
    return {};
  const std::vector<int64_t> shape = {module.out, module.in};
  Value bias = module.bias ? parameter(module, "linear.bias", {module.out},
                                       "'out_features'")
                           : Value();
  const std::string sizes = "'out_features' x 'in_features'";
  Value out = emit.linear(
      input, parameter(module, "linear.weight", shape, sizes), bias);
  Value slope;
  if (module.activation == TorchActivation::PReLU)
    slope = parameter(module, "activation_function.weight", {1}, "1");
  out = emitTorchActivation(emit, module.activation, out, slope);
  if (!module.residual)
    return out;
  Value residual = input;
  if (module.in != module.out)
    residual = emit.linear(
        input, parameter(module, "residual.weight", shape, sizes), Value());
  return emit.add(out, residual);
}

Value PipelineBlock::normalizeLayer(const PipelineModule &module, Value input) {
  if (!checkWidth(module, "dimension", input))
    return {};
  const std::string size = "'dimension'";
  return emit.layerNorm(
      input, parameter(module, "norm.weight", {module.in}, size),
      parameter(module, "norm.bias", {module.in}, size), 1e-5);
}

/// x / max(|x|, 1e-12) as an RMS norm, whose mean square is |x|^2 / d.
Value PipelineBlock::normalizeLength(const PipelineModule &module,
                                     Value input) {
  if (emit.failed())
    return {};
  const auto width = static_cast<double>(context.getWidth(input));
  Value scale = emit.weight(
      module.name + ".scale",
      WeightExpr::fill({context.getWidth(input)}, 1 / std::sqrt(width)));
  return emit.rmsNorm(input, scale, 1e-24 / width);
}

/// The logarithm is monotonic, so it is applied after the max.
Value PipelineBlock::poolSparse(const PipelineModule &module, Value logits) {
  auto log = [&](Value value) {
    value = emit.activation(value, Activation::Log1pRelu);
    return module.logsTwice ? emit.activation(value, Activation::Log1pRelu)
                            : value;
  };
  return module.sums ? pool(log(logits), "sum") : log(pool(logits, "max"));
}

/// Returns logits for the selected tokens, after each text's last token.
Value PipelineBlock::scorePairs(Value tokens) {
  const int64_t vocabulary = context.config.vocab;
  for (const int64_t id : pipeline.scoreTokens)
    if (id >= vocabulary) {
      emit.fail(rejected("LogitScore: the token " + std::to_string(id) +
                         ", but the vocabulary has " +
                         std::to_string(vocabulary) + " tokens"));
      return {};
    }
  HeadBlock head(context);
  head.chooseTokens(pipeline.scoreTokens);
  return head.build(context.head.results.front(), pool(tokens, "last"));
}

Value PipelineBlock::build(const PipelineModule &module, Value input) {
  emit.at(module.name, "/architectures");
  switch (module.kind) {
  case PipelineModule::Kind::Transformer:
  case PipelineModule::Kind::Unchanged:
    return input;
  case PipelineModule::Kind::StaticEmbedding:
  case PipelineModule::Kind::Pooling:
    return pool(module, input);
  case PipelineModule::Kind::Dense:
    return project(module, input);
  case PipelineModule::Kind::LayerNorm:
    return normalizeLayer(module, input);
  case PipelineModule::Kind::Normalize:
    return normalizeLength(module, input);
  case PipelineModule::Kind::SpladePooling:
    return poolSparse(module, input);
  case PipelineModule::Kind::LogitScore:
    return scorePairs(input);
  }
  return {};
}

void PipelineBlock::build() {
  // Build the base model. Prompt tokens and query expansion tokens may have
  // their own masks.
  const std::string &name = pipeline.entry;
  const bool hasTokens = name == tokenFeature;
  const bool expands = hasTokens && pipeline.tokens &&
                       pipeline.tokens->expansion && !pipeline.tokens->attends;
  SmallVector<EntryInput> more;
  auto addMask = [&](const char *input, int64_t absent) {
    EntryInput mask{input, DType::I64, {}, "mask", {}, absent};
    mask.shape = {Polynomial::symbol("batch"), Polynomial::symbol("seq")};
    more.push_back(mask);
  };
  if (!pipeline.includesPrompt && !hasTokens)
    addMask("pooling_mask", 1);
  if (expands)
    addMask("expansion_mask", 0);
  const PipelineModule *table = pipeline.getStaticEmbedding();
  EncoderStart start = table ? beginStaticEmbedding(context, *table, name)
                             : beginEncoder(context, name, more);
  pooled = context.visible;
  if (!more.empty()) {
    emit.at(more.front().name, "/model_type");
    Value own = emit.cast(start.arguments.back(), DType::Bool);
    if (emit.failed())
      return;
    if (expands) // they have results, though nothing attends to them
      context.visible = emit.make<attn::OrOp>(context.visible, own);
    else
      pooled = emit.make<attn::AndOp>(pooled, own);
  }

  // Build the modules.
  Value tokens = start.state, sentence, logits;
  if (pipeline.hasLogits) {
    HeadBlock head(context);
    tokens = head.build(context.head.results.front(), tokens);
  }
  for (const PipelineModule &module : pipeline.modules) {
    if (module.kind == PipelineModule::Kind::LogitScore) {
      logits = build(module, tokens);
      continue;
    }
    Value &value = module.readsTokens ? tokens : sentence;
    (module.writesTokens ? tokens : sentence) = build(module, value);
  }

  // Build the result.
  emit.at(name, "/architectures");
  if (logits)
    emit.endEntry({{"logits", logits}});
  else if (sentence)
    emit.endEntry(
        {{name == "sparse" ? "sparse_embedding" : sentenceFeature, sentence}});
  else
    emit.endEntry({{tokenFeature, zeroPadding(context, tokens, name)}});
  emit.annotateEntry("transom.kind",
                     emit.ops().getStringAttr(logits ? "rerank" : "embed"));
}

void transom::buildPipeline(BlockContext &context,
                            const PipelineConfig &pipeline) {
  PipelineBlock(context, pipeline).build();
}
