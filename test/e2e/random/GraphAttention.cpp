// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention in random models, composed from primitives as in real models, or as
// one operation.
#include "test/e2e/random/GraphBuilder.h"
#include <algorithm>
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

/// [batch, heads, length, width] to [batch, heads, 2 * length, width].
Value GraphBuilder::repeatKeys(Value x) {
  Dims dims = llvm::to_vector(getSymbolicShape(x.getType())), copy = dims;
  copy.insert(copy.begin() + 2, Polynomial(1));
  Value copies = make<ConcatOp>(SmallVector<Value>(2, reshape(x, copy)), 2);
  dims[2] = dims[2] * Polynomial(2);
  return reshape(copies, dims);
}

/// Returns 1 / sqrt(head size), also divided by the layer number if set.
double GraphBuilder::getScale(const Heads &heads) const {
  double scale = 1.0 / std::sqrt(double(heads.dk));
  return scalesByLayer ? scale / double(layer + 1) : scale;
}

/// Computes the scaled scores [batch, heads, q, k] in one of several forms.
Value GraphBuilder::makeScores(Value query, Value key, const Heads &heads) {
  double factor = getScale(heads);
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
  // Shapes that broadcast the mask over queries, and over heads if there are
  // some.
  Polynomial one(1);
  Dims keys = heads.flat ? Dims{batch, one, seq} : Dims{batch, one, one, seq};
  Dims queries =
      heads.flat ? Dims{batch, seq, one} : Dims{batch, one, seq, one};
  double low = random.pick({hidden, hidden, -1e9});
  // Draw one spelling of the same mask.
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

/// Builds a constant causal mask, exact or nearly so.
Value GraphBuilder::triangle(Value scores, int64_t queries, int64_t keys) {
  const bool isAdded = quirk == Quirk::AddedTriangle,
             isCut = quirk == Quirk::SlicedTriangle || queries != keys,
             isShifted = quirk == Quirk::ShiftedTriangle,
             isRectangle = quirk == Quirk::RectangleTriangle;
  const int64_t most = std::max(queries, keys);
  const int64_t rows = most + (isCut ? 2 : isShifted || isRectangle ? 1 : 0);
  const int64_t columns = isRectangle ? most : rows;
  const int64_t copies =
      quirk == Quirk::BatchTriangle && batch.constant() ? *batch.constant() : 1;
  SmallVector<bool> visible;
  SmallVector<float> added;
  for (int64_t i = 0; i < copies * rows * columns; ++i) {
    const int64_t row = i / columns % rows, column = i % columns;
    bool isSeen = column <= row || i >= rows * columns;
    if (quirk == Quirk::NearTriangle && i == columns - 1)
      isSeen = true;
    visible.push_back(isSeen);
    added.push_back(isSeen ? 0.0f : static_cast<float>(hidden));
  }
  Type element = isAdded ? Type(builder.getF32Type()) : builder.getI1Type();
  SmallVector<int64_t> shape = {rows, columns};
  if (copies > 1)
    shape = {copies, 1, rows, columns};
  if (quirk == Quirk::FlatTriangle)
    shape = {copies * rows * columns};
  auto type = RankedTensorType::get(shape, element);
  Value mask = builder.create<ConstantOp>(
      location(), type,
      isAdded ? DenseElementsAttr::get(type, ArrayRef<float>(added))
              : DenseElementsAttr::get(type, ArrayRef<bool>(visible)));
  if (quirk == Quirk::FlatTriangle)
    mask = reshape(mask, {Polynomial(rows), Polynomial(columns)});
  const int64_t axis = copies > 1 ? 2 : 0;
  if (rows != queries)
    mask = slice(mask, axis, isShifted ? 1 : 0, Polynomial(queries));
  if (columns != keys)
    mask = slice(mask, axis + 1, 0, Polynomial(keys));
  const double low = quirk == Quirk::FiniteTriangle ? -2.5 : hidden;
  return isAdded ? make<AddOp>(scores, mask)
                 : make<attn::MaskOp>(scores, mask, number(low));
}

/// Returns the mask for the graph's quirk, if the quirk is a mask.
Value GraphBuilder::quirkyMask(Value scores, const Heads &heads) {
  // Triangles need constant sizes.
  if (quirk >= Quirk::AddedTriangle) {
    std::optional<int64_t> queries = seq.constant(),
                           keys = heads.length.constant();
    const bool fits = !heads.flat || quirk != Quirk::BatchTriangle;
    return queries && keys && fits ? triangle(scores, *queries, *keys) : scores;
  }
  if (!mask || !heads.self || quirk < Quirk::WhereMask)
    return scores;
  // The other quirks change how padding is hidden.
  Polynomial one(1);
  Dims keys = heads.flat ? Dims{batch, one, seq} : Dims{batch, one, one, seq};
  constexpr double low = -3e38;
  Value visible = maskTo(keys);
  auto asNumber = [&](Value bools) {
    return cast(bools, builder.getF32Type());
  };
  switch (quirk) {
  case Quirk::WhereMask:
    return make<AddOp>(
        scores,
        random.chance(50)
            ? make<WhereOp>(visible, constant(0), constant(low))
            : make<WhereOp>(make<NotOp>(visible), constant(low), constant(0)));
  case Quirk::HeadWhereMask: {
    if (heads.flat)
      return scores;
    auto type =
        RankedTensorType::get({1, heads.count, 1, 1}, builder.getF32Type());
    Value zeros = builder.create<ConstantOp>(
        location(), type, DenseElementsAttr::get(type, {0.0f}));
    return make<AddOp>(scores, make<WhereOp>(visible, zeros, constant(low)));
  }
  case Quirk::HalfWhereMask:
    return make<AddOp>(scores,
                       make<WhereOp>(visible, constant(0.5), constant(low)));
  case Quirk::InverseMask:
    return make<AddOp>(scores, scale(asNumber(make<NotOp>(visible)), low));
  case Quirk::DataMask: {
    Value hides =
        make<SubOp>(scale(asNumber(visible), 0.0, 1.0), asNumber(visible));
    return make<AddOp>(scores, make<MulOp>(hides, constant(low)));
  }
  case Quirk::FiniteMask:
    return make<attn::MaskOp>(scores, visible, number(-2.0));
  default: {
    Value hides = make<SubOp>(constant(1), asNumber(visible));
    return make<AddOp>(scores, make<MulOp>(hides, constant(low)));
  }
  }
}

/// Applies all masks and biases to the scores in one attention.
Value GraphBuilder::maskScores(Value scores, const Heads &heads) {
  if (random.chance(15)) {
    Value capped = make<ActivationOp>(scale(scores, 0.5), Activation::Tanh);
    scores = scale(capped, 2.0);
  }
  scores = quirkyMask(scores, heads);
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

/// Computes probabilities and multiplies them by the values, with the graph's
/// quirk.
Value GraphBuilder::mixValues(Value scores, Value value, const Heads &heads) {
  if (quirk == Quirk::OffsetScores)
    scores = scale(scores, 1.0, 0.25);
  Value p = make<SoftmaxOp>(scores);
  // Each quirk uses scores, probabilities or the result a second time or in
  // another form.
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
  case Quirk::WeightedProbabilities:
    if (mask && heads.self) {
      Polynomial one(1);
      Value visible = cast(mask, builder.getF32Type());
      p = make<MulOp>(
          p, make<ActivationOp>(
                 reshape(visible, heads.flat ? Dims{batch, one, seq}
                                             : Dims{batch, one, one, seq}),
                 Activation::Exp));
    }
    break;
  default:
    break;
  }
  return product(p, value, false, false);
}

/// Builds attention as one operation, with the options that have no primitive
/// form here.
Value GraphBuilder::wholeAttention(Value query, Value key, Value value,
                                   const Heads &heads) {
  Value keys;
  MaskKind maskKind = MaskKind::None;
  if (heads.self && mask && random.chance(70)) {
    maskKind = MaskKind::Keys;
    keys = maskTo({batch, seq});
  } else if (heads.self && bias && random.chance(70)) {
    maskKind = MaskKind::Additive;
    keys = bias;
  }
  bool causal = random.chance(30);
  int64_t window = random.chance(20) ? random.between(1, 4) : 0;
  double cap = random.chance(20) ? 2.0 : 0.0;
  FloatAttr low = maskKind == MaskKind::Keys && random.chance(20)
                      ? builder.getF64FloatAttr(-1e9)
                      : FloatAttr();
  // Disentangled attention: GEMMs with relative positions, where far distances
  // may share rows.
  Value positions[2];
  int64_t distance = 0;
  const bool always = graphKind == GraphKind::Positions;
  if (heads.self && (always || random.chance(25))) {
    // Sometimes more than a panel.
    const int64_t count =
        2 * (always && random.chance(40) ? random.between(17, 40)
                                         : random.between(1, 5));
    if (count >= 4 && random.chance(50))
      distance = count / 4 + 2 + random.below(8);
    const int64_t which = random.between(1, 3);
    for (int64_t i : {0, 1})
      if (which & (1 << i))
        positions[i] = weight({heads.count * count, heads.dk}, 0.5);
  }
  return make<SdpaOp>(query, key, value, keys, Value(), Value(), Value(),
                      Value(), positions[0], positions[1], heads.count,
                      heads.count, number(getScale(heads)), maskKind, causal,
                      window, number(cap), low, distance);
}

Value GraphBuilder::attention(Value x) {
  // Draw the widths, the key source and the rank.
  Heads heads;
  heads.count = random.chance(25) ? 1 : headCount;
  heads.dk = keyWidth;
  heads.dv = random.chance(60) ? keyWidth : valueWidth;
  const bool isWhole = graphKind == GraphKind::Positions;
  heads.self = isWhole || !memory || random.chance(50);
  heads.length = heads.self ? seq : memoryLength;
  heads.flat = heads.count == 1 && random.chance(50);
  // Project queries, keys and values; several query heads may share a key head.
  Value normed = random.chance(30) ? norm(x) : x;
  Value source = heads.self ? normed : memory;
  Value placed =
      random.chance(15) ? make<AddOp>(normed, weight({width}, 0.5)) : normed;
  bool biased = random.chance(80);
  Value query = linear(placed, heads.count * heads.dk, biased);
  if (!isWhole && !heads.flat &&
      (quirk == Quirk::RepeatedHeads || quirk == Quirk::TiledHeads))
    heads.sharedBy = heads.count % 2 == 0 ? heads.count / 2 : heads.count;
  const int64_t keyHeads = heads.count / heads.sharedBy;
  Value key = linear(heads.self ? placed : source, keyHeads * heads.dk, biased);
  Value value = linear(source, keyHeads * heads.dv, biased);
  Value mixed;
  // Build one operation, or the separate steps with the quirk.
  if (isWhole || (heads.sharedBy == 1 && random.chance(25))) {
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
    if (quirk == Quirk::RepeatedKeys && !heads.flat) {
      heads.self = false; // no mask is as long
      heads.length = heads.length * Polynomial(2);
      k = repeatKeys(k);
      v = repeatKeys(v);
    }
    Value scores = makeScores(q, k, heads);
    if (quirk == Quirk::SummedScores) {
      Value other = splitHeads(linear(source, keyHeads * heads.dk, biased),
                               heads.length, heads.dk, shared);
      scores = make<AddOp>(scores, scale(product(q, other, false, true), 0.3));
    }
    mixed = mixValues(maskScores(scores, heads), v, heads);
    if (!heads.flat)
      mixed = reshape(transpose(mixed, {0, 2, 1, 3}),
                      {batch, seq, Polynomial(heads.count * heads.dv)});
  }
  return residual(x, linear(mixed, width, random.chance(80)));
}

} // namespace transom::testing
