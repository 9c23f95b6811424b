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

Value GraphBuilder::product(Value lhs, Value rhs, bool transposeLhs,
                            bool transposeRhs) {
  return make<MatmulOp>(lhs, rhs, transposeLhs, transposeRhs);
}

/// The two last axes exchanged.
Value GraphBuilder::turnLast(Value x) {
  return transpose(x, getSymbolicShape(x.getType()).size() == 3
                          ? ArrayRef<int64_t>{0, 2, 1}
                          : ArrayRef<int64_t>{0, 1, 3, 2});
}

/// [batch, heads, length, width] to [batch, heads * count, length, width].
Value GraphBuilder::repeatHeads(Value x, int64_t count) {
  if (quirk == Quirk::TiledHeads)
    return make<ConcatOp>(SmallVector<Value>(count, x), 1);
  Dims dims = llvm::to_vector(getSymbolicShape(x.getType())), copy = dims;
  copy.insert(copy.begin() + 2, Polynomial(1));
  Value copies = make<ConcatOp>(SmallVector<Value>(count, reshape(x, copy)), 2);
  dims[1] = dims[1] * Polynomial(count);
  return reshape(copies, dims);
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
    key = turnLast(key);
  Value scores = product(query, key, false, !explicitly);
  if (where == 3)
    scores = scale(scores, factor);
  if (where == 4)
    scores = make<DivOp>(scores, constant(1.0 / factor));
  if (quirk == Quirk::WeightedScores)
    scores = make<MulOp>(scores, weight({1}, 1.0));
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

/// A mask of constants that is nearly, or really, one that hides later keys.
Value GraphBuilder::triangle(Value scores, int64_t length) {
  const bool isAdded = quirk == Quirk::AddedTriangle;
  const int64_t more = quirk == Quirk::SlicedTriangle    ? 2
                       : quirk == Quirk::ShiftedTriangle ? 1
                                                         : 0;
  const int64_t size = length + more;
  SmallVector<bool> visible;
  SmallVector<float> added;
  for (int64_t i = 0; i < size * size; ++i) {
    bool isSeen = i % size <= i / size;
    if (quirk == Quirk::NearTriangle && i == size - 1)
      isSeen = true;
    visible.push_back(isSeen);
    added.push_back(isSeen ? 0.0f : static_cast<float>(hidden));
  }
  Type element = isAdded ? Type(builder.getF32Type()) : builder.getI1Type();
  auto type = RankedTensorType::get({size, size}, element);
  Value mask = builder.create<ConstantOp>(
      location(), type,
      isAdded ? DenseElementsAttr::get(type, ArrayRef<float>(added))
              : DenseElementsAttr::get(type, ArrayRef<bool>(visible)));
  if (more) {
    mask = slice(mask, 0, more == 1 ? 1 : 0, Polynomial(length));
    mask = slice(mask, 1, 0, Polynomial(length));
  }
  return isAdded ? make<AddOp>(scores, mask)
                 : make<attn::MaskOp>(scores, mask, number(hidden));
}

/// The mask of the graph's quirk, if it is one of masks.
Value GraphBuilder::quirkyMask(Value scores, const Heads &heads) {
  if (quirk >= Quirk::AddedTriangle) {
    std::optional<int64_t> length = seq.constant();
    return length ? triangle(scores, *length) : scores;
  }
  if (!mask || (quirk != Quirk::WhereMask && quirk != Quirk::ScaledMask))
    return scores;
  Polynomial one(1);
  Dims keys = heads.flat ? Dims{batch, one, seq} : Dims{batch, one, one, seq};
  constexpr double low = -3e38;
  if (quirk == Quirk::WhereMask)
    return make<AddOp>(scores,
                       make<WhereOp>(maskTo(keys), constant(0), constant(low)));
  Value hides =
      make<SubOp>(constant(1), reshape(cast(mask, builder.getF32Type()), keys));
  return make<AddOp>(scores, make<MulOp>(hides, constant(low)));
}

/// All masks and biases of one attention.
Value GraphBuilder::maskScores(Value scores, const Heads &heads) {
  if (random.chance(15)) {
    Value capped = make<ActivationOp>(scale(scores, 0.5), Activation::Tanh);
    scores = scale(capped, 2.0);
  }
  if (!heads.self)
    return scores;
  scores = quirkyMask(scores, heads);
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

/// Probabilities and their product with the values, by the graph's quirk.
Value GraphBuilder::mixValues(Value scores, Value value, const Heads &heads) {
  if (quirk == Quirk::OffsetScores)
    scores = scale(scores, 1.0, 0.25);
  Value p = make<SoftmaxOp>(scores);
  switch (quirk) {
  case Quirk::SharedScores: {
    Value other = make<SoftmaxOp>(scale(scores, 0.5));
    return make<AddOp>(product(p, value, false, false),
                       product(other, value, false, false));
  }
  case Quirk::SharedProbabilities: {
    Value other = make<ActivationOp>(value, Activation::Tanh);
    return make<AddOp>(product(p, value, false, false),
                       product(p, other, false, false));
  }
  case Quirk::TransposedProbabilities:
    return product(turnLast(p), value, true, false);
  case Quirk::ProbabilitiesOnTheRight:
    return turnLast(product(value, p, true, true));
  case Quirk::MaskedProbabilities:
    if (mask && heads.self) {
      Polynomial one(1);
      p = make<MulOp>(p, reshape(cast(mask, builder.getF32Type()),
                                 heads.flat ? Dims{batch, seq, one}
                                            : Dims{batch, one, seq, one}));
    }
    break;
  default:
    break;
  }
  return product(p, value, false, false);
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
  if (!heads.flat &&
      (quirk == Quirk::RepeatedHeads || quirk == Quirk::TiledHeads))
    heads.sharedBy = heads.count % 2 == 0 ? heads.count / 2 : heads.count;
  const int64_t keyHeads = heads.count / heads.sharedBy;
  Value key = linear(heads.self ? placed : source, keyHeads * heads.dk, biased);
  Value value = linear(source, keyHeads * heads.dv, biased);
  Value mixed;
  if (heads.sharedBy == 1 && random.chance(25)) {
    mixed = wholeAttention(query, key, value, heads);
  } else {
    Value q = splitHeads(query, seq, heads.dk, heads);
    Heads shared = heads;
    shared.count = keyHeads;
    Value k = splitHeads(key, heads.length, heads.dk, shared);
    Value v = splitHeads(value, heads.length, heads.dv, shared);
    if (heads.sharedBy > 1) {
      k = repeatHeads(k, heads.sharedBy);
      v = repeatHeads(v, heads.sharedBy);
    }
    mixed = mixValues(maskScores(makeScores(q, k, heads), heads), v, heads);
    if (!heads.flat)
      mixed = reshape(transpose(mixed, {0, 2, 1, 3}),
                      {batch, seq, Polynomial(heads.count * heads.dv)});
  }
  return residual(x, linear(mixed, width, random.chance(80)));
}

} // namespace transom::testing
