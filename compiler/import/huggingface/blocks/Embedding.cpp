// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The embeddings of tokens, their types and their positions, added in this
// order and normalized.
#include "compiler/import/huggingface/blocks/Blocks.h"
#include <cmath>

using namespace mlir;
using namespace transom;

/// The sum is as wide as the hidden size, unless it is projected at the end.
static int64_t sumWidth(const BlockContext &context) {
  return context.family.projection == EmbeddingProjection::AfterNorm
             ? context.config.embeddingWidth
             : context.config.hidden;
}

Value EmbeddingBlock::lookUp(const char *module, int64_t entries, Value indices,
                             const std::string &what, double scale) {
  const ModelFamily &family = context.family;
  int64_t width = module == family.modules.word ? context.config.embeddingWidth
                                                : sumWidth(context);
  Value table = context.parameters.get(module, "weight", {entries, width},
                                       what + " x hidden size");
  return context.emit.embedding(indices, table, scale);
}

/// The entries of a position table start after an offset.
Value EmbeddingBlock::addPositions(Value sum, Value ids) {
  const ModelFamily &family = context.family;
  const FamilyModules &m = family.modules;
  const ModelConfig &config = context.config;
  bool ranks = family.positionIndex == PositionIndex::NonpadRank;
  context.at(m.position, family.keys.positions);
  Value positions = context.emit.make<attn::PositionOp>(
      ids, context.ragged,
      ranks ? attn::PositionKind::NonpadRank : attn::PositionKind::Column,
      uint64_t(ranks ? config.pad : 0));
  Value values;
  if (int64_t offset = family.positionOffset) {
    Value table = context.parameters.getDerived(
        m.position, "weight", {config.positions + offset, sumWidth(context)},
        "positions x hidden size", ".used", [&](WeightExpr file) {
          return WeightExpr::slice(file, 0, offset, config.positions);
        });
    values = context.emit.embedding(positions, table, 1);
  } else {
    values = lookUp(m.position, config.positions, positions,
                    "max_position_embeddings");
  }
  if (*m.embeddings)
    context.at(m.embeddings, family.keys.positions);
  return context.emit.add(sum, values);
}

/// To the hidden size, where the embedding has another width.
Value EmbeddingBlock::project(Value state) {
  const ModelConfig &config = context.config;
  if (config.embeddingWidth == config.hidden)
    return state;
  const char *module = context.family.modules.projectIn;
  context.at(module, context.family.keys.embeddingWidth);
  bool bias = context.family.projection == EmbeddingProjection::AfterNorm;
  return context.project(state, module, config.hidden, bias);
}

Value EmbeddingBlock::build(Value ids, Value types) {
  const ModelFamily &family = context.family;
  const FamilyModules &m = family.modules;
  const ModelConfig &config = context.config;

  // Tokens.
  context.at(m.word, std::string("/vocab_size"));
  double scale = family.scaledEmbedding
                     ? std::sqrt(static_cast<double>(config.hidden))
                     : 1;
  Value sum = lookUp(m.word, config.vocab, ids, "vocabulary", scale);
  if (family.projection == EmbeddingProjection::BeforePositions)
    sum = project(sum);

  // Types and positions.
  if (types) {
    context.at(m.type, family.keys.types);
    Value kinds = lookUp(m.type, config.types, types, "token types");
    if (*m.embeddings)
      context.at(m.embeddings, family.keys.types);
    sum = context.emit.add(sum, kinds);
  }
  if (family.positions == PositionEncoding::Learned)
    sum = addPositions(sum, ids);

  if (*m.embeddingNorm)
    sum = context.normalize(sum, m.embeddingNorm);
  return family.projection == EmbeddingProjection::AfterNorm ? project(sum)
                                                             : sum;
}
