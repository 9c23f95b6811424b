// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output stages from sentence-transformers pipelines: a vector for each text,
// vocabulary weights, or a vector for each token.
#include "test/e2e/random/GraphBuilder.h"
#include <cmath>

using namespace mlir;

namespace transom::testing {

using namespace attn;

/// Returns a vector's size.
static int64_t getSize(Value x) {
  return *getSymbolicShape(x.getType()).back().constant();
}

/// Prompt tokens are not pooled; query expansion tokens have vectors though
/// nothing attends to them.
void GraphBuilder::declareOwnMask() {
  expands = random.chance(50);
  ownMask =
      input(expands ? "expansion_mask" : "pooling_mask", {batch, seq},
            builder.getI64Type(), "mask",
            {builder.getNamedAttr("attn.default",
                                  builder.getI64IntegerAttr(expands ? 0 : 1))});
}

/// The tokens that count after the encoder; null: all.
Value GraphBuilder::getCountedTokens() {
  Value keys = mask ? maskTo({batch, seq}) : Value();
  if (!ownMask)
    return keys;
  Value own = cast(ownMask, builder.getI1Type());
  if (!keys)
    return own;
  return expands ? make<OrOp>(keys, own) : make<AndOp>(keys, own);
}

/// One vector for each sequence, or several side by side.
Value GraphBuilder::pool(Value tokens, Value keys) {
  SmallVector<Value> vectors;
  const int64_t count = random.chance(50) ? 1 : random.between(2, 4);
  for (int64_t i = 0; i < count; ++i) {
    auto kind = static_cast<PoolKind>(
        random.below(attn::getMaxEnumValForPoolKind() + 1));
    vectors.push_back(make<PoolOp>(tokens, keys, Value(), kind, SizeAttr()));
  }
  return count == 1 ? vectors.front() : make<ConcatOp>(vectors, 1);
}

/// A GEMM, an optional activation, and sometimes a residual.
Value GraphBuilder::dense(Value x) {
  const int64_t size = random.chance(30) ? getSize(x) : random.between(2, 40);
  Value y = linear(x, size, random.chance(60));
  if (random.chance(70))
    y = make<ActivationOp>(
        y, random.pick({Activation::Tanh, Activation::Gelu, Activation::Relu,
                        Activation::Sigmoid, Activation::Silu,
                        Activation::GeluTanh}));
  if (random.chance(70))
    return y;
  Value start = size == getSize(x) ? x : linear(x, size, false);
  return make<AddOp>(y, start);
}

Value GraphBuilder::normalizeLayer(Value x) {
  const int64_t size = getSize(x);
  return make<LayerNormOp>(x, gains(size), weight({size}, 0.3), number(1e-5));
}

/// x / max(|x|, 1e-12), as the importer writes it.
Value GraphBuilder::normalizeLength(Value x) {
  const int64_t size = getSize(x);
  Value scale = weight(WeightExpr::fill({size}, 1 / std::sqrt(double(size))));
  return make<RmsNormOp>(x, scale, number(1e-24 / double(size)));
}

/// Logit logarithms, before or after the pool.
Value GraphBuilder::poolSparse(Value x, Value keys) {
  Value logits = linear(x, random.between(2, 70), random.chance(70));
  const bool sums = random.chance(50), twice = random.chance(30);
  auto log = [&](Value value) {
    for (int i = 0; i < (twice ? 2 : 1); ++i)
      value = make<ActivationOp>(value, Activation::Log1pRelu);
    return value;
  };
  auto kind = sums ? PoolKind::Sum : PoolKind::Max;
  Value pooled = make<PoolOp>(sums ? log(logits) : logits, keys, Value(), kind,
                              SizeAttr());
  return sums ? pooled : log(pooled);
}

/// The logits for two vocabulary tokens.
Value GraphBuilder::scorePairs(Value x, Value keys) {
  Value last = make<PoolOp>(x, keys, Value(), PoolKind::Last, SizeAttr());
  std::string table = name + ".w" + std::to_string(tensors++);
  weights.add(table, {11, width}, 1.0);
  auto row = [&](int64_t id) {
    return WeightExpr::slice(WeightExpr::file(table), 0, id, 1);
  };
  Value chosen = weight(WeightExpr::concat(
      0, {row(random.between(0, 5)), row(random.between(6, 10))}));
  return make<LinearOp>(last, chosen, Value());
}

/// A vector for each token, zero at padding.
Value GraphBuilder::embedTokens(Value x, Value keys) {
  if (random.chance(70))
    x = linear(x, random.between(2, 40), random.chance(50));
  x = normalizeLength(x);
  if (!keys)
    return x;
  return make<attn::MaskOp>(x, reshape(keys, {batch, seq, Polynomial(1)}),
                            number(0.0));
}

GraphBuilder::NamedValue GraphBuilder::endPipeline(Value x) {
  Value keys = getCountedTokens();
  switch (random.below(10)) {
  case 0:
  case 1:
    return {"sparse_embedding", poolSparse(x, keys)};
  case 2:
    return {"token_embeddings", embedTokens(x, keys)};
  case 3:
    return {"logits", scorePairs(x, keys)};
  default:
    break;
  }
  if (random.chance(20))
    x = dense(x);
  x = pool(x, keys);
  for (int64_t i = 0, count = random.below(4); i < count; ++i)
    x = random.chance(60) ? dense(x) : normalizeLayer(x);
  return {"sentence_embedding", random.chance(60) ? normalizeLength(x) : x};
}

} // namespace transom::testing
