// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoder, operation by operation. Fused projections are read as three (or
// two) of their own by weight expressions; fusing them again is the passes'
// work, whichever way the files have them.
#include "compiler/import/huggingface/Decoder.h"
#include <cmath>

using namespace mlir;
using namespace transom;

ModuleNaming DecoderBuilder::namingOf(const DecoderFamily &family,
                                      const DecoderHead &head) {
  const DecoderModules &m = family.modules;
  return {family.prefix,
          {m.word, m.position, m.embeddingNorm, m.rotary, m.layer, m.finalNorm},
          std::string(m.word) + ".weight",
          std::string(head.kind) == "none"};
}

DecoderBuilder::DecoderBuilder(Emitter &emit, const ModelFiles &files,
                               const DecoderFamily &family,
                               const DecoderHead &head,
                               const DecoderModel &model)
    : emit(emit), family(family), theHead(head), model(model),
      parameters(emit, files, namingOf(family, head)) {}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

std::string DecoderBuilder::layerName(int64_t number) const {
  std::string name = family.modules.layer;
  return name.replace(name.find("{i}"), 3, std::to_string(number));
}

Value DecoderBuilder::add(Value a, Value b, const std::string &module) {
  parameters.at(module, family.keys.layers);
  return emit.add(a, b);
}

Value DecoderBuilder::project(Value input, const std::string &module,
                              int64_t from, int64_t to, bool bias) {
  Value weight;
  if (family.transposedWeights)
    weight = parameters.piece(
        module, "weight", {from, to}, "", "^T",
        [](WeightExpr file) { return WeightExpr::transpose(file, {1, 0}); });
  else
    weight = parameters.get(module, "weight", {to, from}, "");
  return emit.linear(input, weight,
                     bias ? parameters.get(module, "bias", {to}, "") : Value());
}

Value DecoderBuilder::projectRows(Value input, const std::string &module,
                                  int64_t from, int64_t all, int64_t start,
                                  int64_t count, bool bias,
                                  const char *suffix) {
  std::vector<int64_t> shape = {all, from};
  if (family.transposedWeights)
    std::swap(shape[0], shape[1]);
  auto rowsOf = [&](WeightExpr file) {
    return WeightExpr::slice(std::move(file), 0, start, count);
  };
  Value weight = parameters.piece(
      module, "weight", shape, "", suffix, [&](WeightExpr file) {
        return rowsOf(family.transposedWeights
                          ? WeightExpr::transpose(file, {1, 0})
                          : file);
      });
  Value addend =
      bias ? parameters.piece(module, "bias", {all}, "", suffix, rowsOf)
           : Value();
  return emit.linear(input, weight, addend);
}

Value DecoderBuilder::normalize(Value input, const std::string &module) {
  if (emit.failed())
    return {};
  parameters.at(module, family.keys.epsilon);
  std::vector<int64_t> shape = {*emit.shapeOf(input).back().constant()};
  const WeightExpr ones = WeightExpr::fill(shape, 1);
  if (!model.normsHaveWeights)
    return emit.layerNorm(
        input, emit.weight(parameters.placeOf(module) + ".ones", ones), Value(),
        model.epsilon);
  Value gamma = family.norm == NormKind::RmsOnePlus
                    ? parameters.piece(module, "weight", shape, "", "+1",
                                       [&](WeightExpr file) {
                                         return WeightExpr::add(file, ones);
                                       })
                    : parameters.get(module, "weight", shape, "");
  if (family.norm != NormKind::Layer)
    return emit.rmsNorm(input, gamma, model.epsilon);
  return emit.layerNorm(input, gamma, parameters.get(module, "bias", shape, ""),
                        model.epsilon);
}

//===----------------------------------------------------------------------===//
// Embeddings and positions
//===----------------------------------------------------------------------===//

void DecoderBuilder::startPositions(Value tokens) {
  ragged = emit.sequences();
  if (family.positions == DecoderPositions::Alibi) {
    slopes = emit.weight("alibi.slopes",
                         WeightExpr::values({model.heads}, model.slopes));
    return;
  }
  if (model.rotary.frequencies.empty())
    return;
  parameters.at(family.modules.rotary, family.keys.positions);
  Value positions = emit.make<attn::PositionOp>(
      tokens, ragged, attn::PositionKind::Column, uint64_t(0));
  parameters.at(family.modules.rotary, family.keys.theta);
  rotation = emit.make<attn::RopeTableOp>(
      positions, emit.ops().getDenseF64ArrayAttr(model.rotary.frequencies),
      emit.ops().getF64FloatAttr(model.rotary.factor),
      emit.ops().getI64IntegerAttr(model.rotary.context));
}

Value DecoderBuilder::embeddings(Value tokens) {
  const DecoderModules &m = family.modules;
  parameters.at(m.word, std::string("/vocab_size"));
  Value table =
      parameters.get(m.word, "weight", {model.vocab, model.embeddingWidth},
                     "vocabulary x hidden size");
  double scale =
      family.scaledEmbedding ? std::sqrt(static_cast<double>(model.hidden)) : 1;
  Value state = emit.embedding(tokens, table, scale);
  if (model.embeddingWidth != model.hidden) {
    parameters.at(m.projectIn, family.keys.embeddingWidth);
    state =
        project(state, m.projectIn, model.embeddingWidth, model.hidden, false);
  }
  if (family.positions == DecoderPositions::Learned) {
    parameters.at(m.position, family.keys.positions);
    Value positions = emit.make<attn::PositionOp>(
        tokens, ragged, attn::PositionKind::Column, uint64_t(0));
    int64_t offset = family.positionOffset;
    std::vector<int64_t> shape = {model.positions + offset, model.hidden};
    const char *sizes = "positions x hidden size";
    Value places =
        offset ? parameters.piece(m.position, "weight", shape, sizes, ".used",
                                  [&](WeightExpr file) {
                                    return WeightExpr::slice(file, 0, offset,
                                                             model.positions);
                                  })
               : parameters.get(m.position, "weight", shape, sizes);
    state = emit.add(state, emit.embedding(positions, places, 1));
  }
  return *m.embeddingNorm ? normalize(state, m.embeddingNorm) : state;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Value DecoderBuilder::fusedPart(Value state, const std::string &module,
                                int part) {
  static const char *const suffixes[] = {".query", ".key", ".value"};
  int64_t query = model.heads * model.headDim;
  int64_t key = model.kvHeads * model.headDim;
  int64_t all = query + 2 * key;
  if (family.qkv == QkvLayout::Stacked) {
    int64_t starts[] = {0, query, query + key};
    return projectRows(state, module, model.hidden, all, starts[part],
                       part ? key : query, model.qkvBias, suffixes[part]);
  }
  // [heads, 3, head size, ...] to the part's [heads * head size, ...].
  auto partOf = [&](WeightExpr file, std::vector<int64_t> inner) {
    std::vector<int64_t> split = {model.heads, 3, model.headDim};
    std::vector<int64_t> joined = {query};
    split.insert(split.end(), inner.begin(), inner.end());
    joined.insert(joined.end(), inner.begin(), inner.end());
    return WeightExpr::reshape(
        WeightExpr::slice(WeightExpr::reshape(file, split), 1, part, 1),
        joined);
  };
  Value weight = parameters.piece(
      module, "weight", {all, model.hidden}, "", suffixes[part],
      [&](WeightExpr file) { return partOf(file, {model.hidden}); });
  Value bias =
      model.qkvBias
          ? parameters.piece(module, "bias", {all}, "", suffixes[part],
                             [&](WeightExpr file) { return partOf(file, {}); })
          : Value();
  return emit.linear(state, weight, bias);
}

DecoderBuilder::Heads DecoderBuilder::projectHeads(Value state,
                                                   const std::string &layer) {
  const DecoderModules &m = family.modules;
  if (family.qkv != QkvLayout::Separate) {
    parameters.at(layer + m.qkv, family.keys.hidden);
    return {fusedPart(state, layer + m.qkv, 0),
            fusedPart(state, layer + m.qkv, 1),
            fusedPart(state, layer + m.qkv, 2)};
  }
  auto part = [&](const char *module, int64_t heads) {
    parameters.at(layer + module, family.keys.hidden);
    return project(state, layer + module, model.hidden, heads * model.headDim,
                   model.qkvBias);
  };
  return {part(m.query, model.heads), part(m.key, model.kvHeads),
          part(m.value, model.kvHeads)};
}

Value DecoderBuilder::turn(Value heads, int64_t count, const std::string &layer,
                           const char *norm) {
  const DecoderModules &m = family.modules;
  if (family.normsOfHeads) {
    parameters.at(layer + norm, family.keys.epsilon);
    Value split = emit.reshape(heads, {rows, count, model.headDim});
    heads = emit.reshape(normalize(split, layer + norm),
                         {rows, count * model.headDim});
  }
  if (!rotation)
    return heads;
  parameters.at(layer + m.attention, family.keys.theta);
  return emit.make<attn::RopeOp>(heads, rotation, uint64_t(count),
                                 /*interleaved=*/false);
}

Value DecoderBuilder::attention(Value state, int64_t number) {
  const DecoderModules &m = family.modules;
  const std::string layer = layerName(number) + ".";
  Heads heads = projectHeads(state, layer);
  heads.query = turn(heads.query, model.heads, layer, m.queryNorm);
  heads.key = turn(heads.key, model.kvHeads, layer, m.keyNorm);
  const DecoderLayer &own = model.layers[number];
  parameters.at(layer + m.attention, family.keys.heads);
  Value cache = emit.cache(parameters.placeOf(layer + m.attention),
                           attn::CacheType::get(emit.ops().getContext(),
                                                model.kvHeads, model.headDim,
                                                model.headDim, own.window));
  Value mixed = emit.make<attn::SdpaOp>(
      heads.query, heads.key, heads.value, /*mask=*/Value(), ragged, cache,
      slopes, uint64_t(model.heads), uint64_t(model.kvHeads),
      llvm::APFloat(own.scale), attn::MaskKind::Ragged, /*causal=*/true,
      uint64_t(own.window), llvm::APFloat(model.attentionCap), FloatAttr());
  parameters.at(layer + m.attentionOut, family.keys.hidden);
  return project(mixed, layer + m.attentionOut, model.heads * model.headDim,
                 model.hidden, model.attentionOutBias);
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

Value DecoderBuilder::gated(Value state, const std::string &layer) {
  const DecoderModules &m = family.modules;
  int64_t wide = model.intermediate;
  bool stacked = family.mlp == MlpKind::GatedStacked;
  auto half = [&](int64_t start, const char *suffix) {
    return projectRows(state, layer + m.up, model.hidden, 2 * wide, start, wide,
                       model.mlpBias, suffix);
  };
  parameters.at(layer + (stacked ? m.up : m.gate), family.keys.intermediate);
  Value gate = stacked ? half(0, ".gate")
                       : project(state, layer + m.gate, model.hidden, wide,
                                 model.mlpBias);
  parameters.at(layer + m.up, family.keys.intermediate);
  Value up =
      stacked ? half(wide, ".up")
              : project(state, layer + m.up, model.hidden, wide, model.mlpBias);
  parameters.at(layer + m.activation, family.keys.activation);
  Value active =
      model.activation ? emit.activation(gate, *model.activation) : gate;
  return emit.make<attn::MulOp>(active, up);
}

Value DecoderBuilder::mlp(Value state, const std::string &layer) {
  const DecoderModules &m = family.modules;
  Value inner;
  if (family.mlp == MlpKind::Plain) {
    parameters.at(layer + m.up, family.keys.intermediate);
    inner = project(state, layer + m.up, model.hidden, model.intermediate,
                    model.mlpBias);
    parameters.at(layer + m.activation, family.keys.activation);
    if (model.activation)
      inner = emit.activation(inner, *model.activation);
  } else {
    inner = gated(state, layer);
  }
  parameters.at(layer + m.down, family.keys.intermediate);
  return project(inner, layer + m.down, model.intermediate, model.hidden,
                 model.mlpBias);
}

/// Attention and MLP read the same state, and both are added to it.
Value DecoderBuilder::parallelLayer(Value state, int64_t number) {
  const DecoderModules &m = family.modules;
  const std::string name = layerName(number), inside = name + ".";
  Value mixed = attention(normalize(state, inside + m.attentionNorm), number);
  Value sum = add(mixed, state, name);
  Value wide = mlp(normalize(state, inside + m.mlpNorm), inside);
  return add(wide, sum, name);
}

Value DecoderBuilder::layer(Value state, int64_t number) {
  const DecoderModules &m = family.modules;
  const std::string name = layerName(number), inside = name + ".";
  bool before = model.norms == NormPlace::Before;
  auto part = [&](const char *norm, const char *postNorm, auto compute) {
    Value input = before ? normalize(state, inside + norm) : state;
    Value residual = model.residualFromNorm ? input : state;
    Value result = compute(input);
    if (*postNorm)
      result = normalize(result, inside + postNorm);
    state = add(result, residual, name);
    if (!before)
      state = normalize(state, inside + norm);
  };
  part(m.attentionNorm, m.attentionPostNorm,
       [&](Value input) { return attention(input, number); });
  if (emit.failed())
    return {};
  part(m.mlpNorm, m.mlpPostNorm,
       [&](Value input) { return mlp(input, inside); });
  return state;
}

//===----------------------------------------------------------------------===//
// Heads and the entry
//===----------------------------------------------------------------------===//

/// The head's own weight, by one of its names, or the word table.
Value DecoderBuilder::vocabularyWeight(std::string &module) {
  module = "lm_head";
  bool own = !model.tied;
  for (const char *name : {"lm_head", "embed_out"})
    if (parameters.has(name, "weight")) {
      module = name;
      own = true;
      break;
    }
  parameters.at(module, std::string("/vocab_size"));
  return parameters.get(own ? module : family.modules.word, "weight",
                        {model.vocab, model.embeddingWidth},
                        "vocabulary x hidden size");
}

Value DecoderBuilder::head(Value state) {
  const DecoderModules &m = family.modules;
  if (model.finalNorm)
    state = normalize(state, m.finalNorm);
  if (model.embeddingWidth != model.hidden) {
    parameters.at(m.projectOut, family.keys.embeddingWidth);
    state =
        project(state, m.projectOut, model.hidden, model.embeddingWidth, false);
  }
  const std::string kind = theHead.kind;
  if (kind == "none")
    return state;
  if (kind == "sequence_classification") {
    parameters.at("score", std::string("/id2label"));
    Value weight =
        parameters.get("score", "weight", {model.labels, model.embeddingWidth},
                       "labels x hidden size");
    return emit.linear(state, weight, Value());
  }
  std::string module;
  Value weight = vocabularyWeight(module);
  Value logits = emit.linear(state, weight, Value());
  if (model.logitCap == 0)
    return logits;
  parameters.at(module, family.keys.logitCap);
  Value flat = emit.activation(emit.scale(logits, 1 / model.logitCap),
                               attn::ActivationKind::Tanh);
  return emit.scale(flat, model.logitCap);
}

void DecoderBuilder::build() {
  EntryInput tokens{"tokens", DType::I64, {rows}, "ids", model.vocab, {}};
  EntryInput wanted{"wanted", DType::I64, {Polynomial::symbol("wanted")},
                    "data",   {},         {}};
  emit.at("step", "/model_type");
  SmallVector<Value> arguments = emit.beginEntry("step", {tokens, wanted});
  startPositions(arguments[0]);
  Value state = embeddings(arguments[0]);
  for (size_t i = 0; i < model.layers.size() && !emit.failed(); ++i)
    state = model.parallelResidual ? parallelLayer(state, i) : layer(state, i);
  emit.at("step", "/architectures");
  Value asked = emit.make<attn::GatherOp>(state, arguments[1]);
  if (emit.failed())
    return;
  bool bare = std::string(theHead.kind) == "none";
  Value result = head(asked);
  emit.at("step", "/architectures");
  emit.endEntry({{bare ? "last_hidden_state" : "logits", result}});
  OpBuilder &ops = emit.ops();
  emit.annotateEntry("transom.vocabulary", ops.getI64IntegerAttr(model.vocab));
  if (model.context)
    emit.annotateEntry("transom.context",
                       ops.getI64IntegerAttr(*model.context));
}
