// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Token, type and position embeddings, added in this order and normalized.
#include "compiler/import/huggingface/blocks/Blocks.h"

using namespace mlir;
using namespace transom;

/// The sum has the hidden size, unless it is projected at the end.
static int64_t sumWidth(const BlockContext &context) {
  return context.family.projection == EmbeddingProjection::BeforePositions
             ? context.config.hidden
             : context.config.embeddingWidth;
}

Value EmbeddingBlock::lookUp(const std::string &module,
                             std::vector<int64_t> sizes, Value indices,
                             const std::string &what, double scale) {
  const std::string words = what + " x " + context.getWidthWords(sizes[1]);
  Value table =
      context.parameters.get(module, "weight", std::move(sizes), words);
  return context.emit.embedding(indices, table, scale);
}

/// Returns fairseq's position table, which is counted from padding id + 1.
/// Encoder ranks include the padding id, whose entry is zero; a decoder has
/// columns.
WeightExpr EmbeddingBlock::fairseqTable() {
  const ModelConfig &config = context.config;
  int64_t width = sumWidth(context), first = config.pad + 1;
  WeightExpr all = WeightExpr::sinusoid(first + config.positions, width,
                                        SinusoidOrder::Fairseq);
  WeightExpr used = WeightExpr::slice(all, 0, first, config.positions);
  if (context.family.positionIndex == PositionIndex::Column)
    return used;
  WeightExpr padding = WeightExpr::fill({1, width}, 0);
  if (config.pad == 0)
    return WeightExpr::concat(0, {padding, used});
  return WeightExpr::concat(
      0, {WeightExpr::slice(all, 0, 0, config.pad), padding, used});
}

/// Returns the table that `PositionOp` indexes.
Value EmbeddingBlock::positionTable() {
  const ModelFamily &family = context.family;
  const std::string module = family.modules.position;
  Parameters &parameters = context.parameters;
  int64_t offset = family.positionOffset, count = context.config.positions;
  int64_t width = sumWidth(context);

  // Sines and cosines.
  if (family.positions == PositionEncoding::Sinusoid &&
      !(family.sinusoidFromFile && parameters.has(module, "weight"))) {
    bool fairseq = family.sinusoid == SinusoidOrder::Fairseq;
    return context.emit.weight(
        parameters.getModulePath(module) + ".computed",
        fairseq ? fairseqTable()
                : WeightExpr::sinusoid(count, width, family.sinusoid));
  }

  // A table in the files, which starts after an offset.
  const std::string sizes = "positions x " + context.getWidthWords(width);
  if (!offset)
    return parameters.get(module, "weight", {count, width}, sizes);
  return parameters.getDerived(module, "weight", {count + offset, width}, sizes,
                               ".used", [&](WeightExpr file) {
                                 return WeightExpr::slice(file, 0, offset,
                                                          count);
                               });
}

/// The padding id's entry is zero in fairseq's table. A decoder counts columns,
/// so it multiplies by a table with zero for that id and one for others.
Value EmbeddingBlock::clearPadding(Value values, Value ids) {
  const ModelConfig &config = context.config;
  std::vector<WeightExpr> factors;
  auto add = [&](int64_t count, double factor) {
    if (count > 0)
      factors.push_back(WeightExpr::fill({count, 1}, factor));
  };
  add(config.pad, 1);
  add(1, 0);
  add(config.vocab - config.pad - 1, 1);
  Value table = context.emit.weight(
      context.parameters.getModulePath(context.family.modules.position) +
          ".not_padding",
      WeightExpr::concat(0, std::move(factors)));
  return context.emit.make<attn::MulOp>(values,
                                        context.emit.embedding(ids, table, 1));
}

Value EmbeddingBlock::addPositions(Value sum, Value ids) {
  const ModelFamily &family = context.family;
  const FamilyModules &m = family.modules;
  bool ranks = family.positionIndex == PositionIndex::NonpadRank;
  context.at(m.position, family.keys.positions);
  Value positions = context.emit.make<attn::PositionOp>(
      ids, context.ragged,
      ranks ? attn::PositionKind::NonpadRank : attn::PositionKind::Column,
      uint64_t(ranks ? context.config.pad : 0));
  Value values = context.emit.embedding(positions, positionTable(), 1);
  if (family.sinusoid == SinusoidOrder::Fairseq && !ranks)
    values = clearPadding(values, ids);
  if (*m.embeddings)
    context.at(m.embeddings, family.keys.positions);
  return context.emit.add(sum, values);
}

/// Projects to the hidden size, if the embedding has another width.
Value EmbeddingBlock::project(Value state) {
  const ModelConfig &config = context.config;
  if (config.embeddingWidth == config.hidden && !context.family.alwaysProjects)
    return state;
  const char *module = context.family.modules.projectIn;
  context.at(module, context.family.keys.embeddingWidth);
  bool bias = context.family.projection == EmbeddingProjection::AfterNorm;
  return context.project(state, module, config.hidden, bias, "hidden size");
}

Value EmbeddingBlock::build(Value ids, Value types) {
  const ModelFamily &family = context.family;
  const FamilyModules &m = family.modules;
  const ModelConfig &config = context.config;

  // Add token embeddings.
  context.at(m.word, std::string("/vocab_size"));
  Value sum =
      lookUp(context.getWordModule(), {config.vocab, config.embeddingWidth},
             ids, "vocabulary", config.embeddingScale);
  if (family.projection == EmbeddingProjection::BeforePositions)
    sum = project(sum);

  // Add types and positions.
  if (types) {
    context.at(m.type, family.keys.types);
    Value kinds =
        lookUp(m.type, {config.types, sumWidth(context)}, types, "token types");
    if (*m.embeddings)
      context.at(m.embeddings, family.keys.types);
    sum = context.emit.add(sum, kinds);
  }
  if (config.addsPositions && (family.positions == PositionEncoding::Learned ||
                               family.positions == PositionEncoding::Sinusoid))
    sum = addPositions(sum, ids);

  if (family.projection == EmbeddingProjection::BeforeNorm)
    sum = project(sum);
  if (*m.embeddingNorm)
    sum = context.normalizeOuter(sum, m.embeddingNorm);
  return family.projection == EmbeddingProjection::AfterNorm ? project(sum)
                                                             : sum;
}
