// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of random models, written out in primitives in the ways that models
// do it, or as one operation.
#include "test/e2e/random/GraphBuilder.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace transom::testing {

using namespace attn;

static constexpr double hidden = -std::numeric_limits<double>::infinity();

/// [batch, length, heads * width] to [batch, heads, length, width].
Value GraphBuilder::splitHeads(Value x, const Polynomial &length, int64_t size,
                               const Heads &heads) {
  if (heads.flat)
    return x;
  Value split =
      reshape(x, {batch, length, Polynomial(heads.count), Polynomial(size)});
  return transpose(split, {0, 2, 1, 3});
}

/// The scaled scores [batch, heads, q, k], in one of several spellings.
Value GraphBuilder::makeScores(Value query, Value key, const Heads &heads) {
  double factor = 1.0 / std::sqrt(double(heads.dk));
  int64_t where = random.below(5);
  if (where == 0)
    query = scale(query, factor);
  if (where == 1)
    key = scale(key, factor);
  if (where == 2) {
    query = scale(query, std::sqrt(factor));
    key = scale(key, std::sqrt(factor));
  }
  bool explicitly = random.chance(50);
  if (explicitly)
    key = transpose(key, heads.flat ? ArrayRef<int64_t>{0, 2, 1}
                                    : ArrayRef<int64_t>{0, 1, 3, 2});
  Value scores = make<MatmulOp>(query, key, false, !explicitly);
  if (where == 3)
    scores = scale(scores, factor);
  if (where == 4)
    scores = make<DivOp>(scores, constant(1.0 / factor));
  return scores;
}

/// Hides keys that the mask input hides.
Value GraphBuilder::keyMask(Value scores, const Heads &heads) {
  Polynomial one(1);
  Dims keys = heads.flat ? Dims{batch, one, seq} : Dims{batch, one, one, seq};
  Dims queries =
      heads.flat ? Dims{batch, seq, one} : Dims{batch, one, seq, one};
  double low = random.pick({hidden, hidden, -1e9});
  switch (random.below(6)) {
  case 0:
    return make<attn::MaskOp>(scores, maskTo(keys), number(low));
  case 1: {
    Value added = scale(cast(mask, builder.getF32Type()), 1e4, -1e4);
    return make<AddOp>(scores, reshape(added, keys));
  }
  case 2:
    return make<WhereOp>(maskTo(keys), scores, constant(low));
  case 3:
    return make<attn::MaskOp>(
        scores, make<AndOp>(maskTo(queries), maskTo(keys)), number(low));
  case 4: {
    Value real = cast(mask, builder.getF32Type());
    Value product = make<MulOp>(reshape(real, queries), reshape(real, keys));
    return make<attn::MaskOp>(scores, cast(product, builder.getI1Type()),
                              number(low));
  }
  default:
    return make<WhereOp>(make<NotOp>(maskTo(keys)), constant(low), scores);
  }
}

/// All masks and biases of one attention.
Value GraphBuilder::maskScores(Value scores, const Heads &heads) {
  if (random.chance(15)) {
    Value capped = make<ActivationOp>(scale(scores, 0.5), Activation::Tanh);
    scores = scale(capped, 2.0);
  }
  if (!heads.self)
    return scores;
  if (bias && (!heads.flat || getSymbolicShape(bias.getType()).size() == 2) &&
      random.chance(70))
    scores = make<AddOp>(scores, bias);
  if (mask && random.chance(80))
    scores = keyMask(scores, heads);
  std::optional<int64_t> length = seq.constant();
  if (!length || !random.chance(25))
    return scores;
  SmallVector<bool> visible;
  for (int64_t i = 0; i < *length * *length; ++i)
    visible.push_back(i % *length <= i / *length);
  auto type = RankedTensorType::get({*length, *length}, builder.getI1Type());
  Value causal = builder.create<ConstantOp>(
      location(), type, DenseElementsAttr::get(type, visible));
  return make<attn::MaskOp>(scores, causal, number(hidden));
}

/// The same as one operation, with the options that have no spelling here.
Value GraphBuilder::wholeAttention(Value query, Value key, Value value,
                                   const Heads &heads) {
  Value keys;
  MaskKind kind = MaskKind::None;
  if (heads.self && mask && random.chance(70)) {
    kind = MaskKind::Keys;
    keys = maskTo({batch, seq});
  } else if (heads.self && bias && random.chance(70)) {
    kind = MaskKind::Additive;
    keys = bias;
  }
  bool causal = random.chance(30);
  int64_t window = random.chance(20) ? random.between(1, 4) : 0;
  double cap = random.chance(20) ? 2.0 : 0.0;
  FloatAttr low = kind == MaskKind::Keys && random.chance(20)
                      ? builder.getF64FloatAttr(-1e9)
                      : FloatAttr();
  return make<SdpaOp>(query, key, value, keys, Value(), Value(), Value(),
                      Value(), heads.count, heads.count,
                      number(1.0 / std::sqrt(double(heads.dk))), kind, causal,
                      window, number(cap), low);
}

Value GraphBuilder::attention(Value x) {
  Heads heads;
  heads.count = random.chance(25) ? 1 : headCount;
  heads.dk = keyWidth;
  heads.dv = random.chance(60) ? keyWidth : valueWidth;
  heads.self = !memory || random.chance(50);
  heads.length = heads.self ? seq : memoryLength;
  heads.flat = heads.count == 1 && random.chance(50);
  Value normed = random.chance(30) ? norm(x) : x;
  Value source = heads.self ? normed : memory;
  Value placed =
      random.chance(15) ? make<AddOp>(normed, weight({width}, 0.5)) : normed;
  bool biased = random.chance(80);
  Value query = linear(placed, heads.count * heads.dk, biased);
  Value key =
      linear(heads.self ? placed : source, heads.count * heads.dk, biased);
  Value value = linear(source, heads.count * heads.dv, biased);
  Value mixed;
  if (random.chance(25)) {
    mixed = wholeAttention(query, key, value, heads);
  } else {
    Value q = splitHeads(query, seq, heads.dk, heads);
    Value k = splitHeads(key, heads.length, heads.dk, heads);
    Value v = splitHeads(value, heads.length, heads.dv, heads);
    Value p = make<SoftmaxOp>(maskScores(makeScores(q, k, heads), heads));
    mixed = make<MatmulOp>(p, v, false, false);
    if (!heads.flat)
      mixed = reshape(transpose(mixed, {0, 2, 1, 3}),
                      {batch, seq, Polynomial(heads.count * heads.dv)});
  }
  return residual(x, linear(mixed, width, random.chance(80)));
}

} // namespace transom::testing
