// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks in random models other than attention.
#include "test/e2e/random/GraphBuilder.h"

using namespace mlir;

namespace transom::testing {

using namespace attn;

Value GraphBuilder::norm(Value x) {
  int64_t kind = random.below(3);
  if (kind == 0)
    return make<RmsNormOp>(x, gains(width), number(1e-5));
  Value beta = kind == 1 ? weight({width}, 0.3) : Value();
  return make<LayerNormOp>(x, gains(width), beta, number(1e-5));
}

/// x + y, normalized or not.
Value GraphBuilder::residual(Value x, Value y) {
  Value sum = random.chance(50) ? make<AddOp>(x, y) : make<AddOp>(y, x);
  return random.chance(70) ? norm(sum) : sum;
}

Value GraphBuilder::feedForward(Value x) {
  Value y = random.chance(30) ? norm(x) : x;
  auto kind =
      random.pick({Activation::Relu, Activation::Gelu, Activation::GeluTanh,
                   Activation::Silu, Activation::Tanh, Activation::QuickGelu});
  Value up;
  if (random.chance(40)) {
    up = gated(x, y, kind);
  } else {
    up = make<ActivationOp>(linear(y, inner, random.chance(80)), kind);
  }
  return residual(x, linear(up, width, random.chance(80)));
}

/// act(g) * u, or a near match.
Value GraphBuilder::gated(Value x, Value y, Activation kind) {
  const Polynomial half(inner);
  const bool bias = random.chance(50);
  auto apply = [&](Value gate) { return make<ActivationOp>(gate, kind); };
  // Draw one form; the default is a plain gated MLP.
  switch (random.below(10)) {
  case 0: // from another input
    return make<MulOp>(apply(linear(y, inner, bias)), linear(x, inner, bias));
  case 1: { // the gate is read once more
    Value gate = linear(y, inner, bias);
    Value up = make<MulOp>(apply(gate), linear(y, inner, bias));
    return make<AddOp>(up, gate);
  }
  case 2: { // halves of one GEMM
    Value both = linear(y, 2 * inner, bias);
    Value low = slice(both, 2, 0, half), high = slice(both, 2, inner, half);
    return random.chance(50) ? make<MulOp>(apply(low), high)
                             : make<MulOp>(low, apply(high));
  }
  case 3: { // halves of a GEMM that also has a full use
    Value both = linear(y, 2 * inner, bias);
    Value low = slice(both, 2, 0, half), high = slice(both, 2, inner, half);
    Value up = make<MulOp>(apply(low), high);
    return make<AddOp>(
        up, linear(make<ActivationOp>(both, Activation::Tanh), inner, false));
  }
  case 4: { // overlapping halves
    const int64_t common = 1 + inner / 3;
    Value both = linear(y, 2 * inner, bias);
    return make<MulOp>(apply(slice(both, 2, 0, half)),
                       slice(both, 2, inner - common, half));
  }
  case 5: { // one weight for both
    Value w = weight({inner, width}, 0.7);
    return make<MulOp>(apply(make<LinearOp>(y, w, Value())),
                       make<LinearOp>(y, w, Value()));
  }
  case 6: // no activation, and another one
    return make<MulOp>(linear(y, inner, bias),
                       apply(apply(linear(y, inner, bias))));
  default:
    return make<MulOp>(apply(linear(y, inner, bias)),
                       linear(y, inner, random.chance(80) ? bias : !bias));
  }
}

/// Slices one GEMM into columns that cover it, overlap or omit some, sometimes
/// with a full use too.
Value GraphBuilder::columns(Value x) {
  const Polynomial all(width);
  Value wide = linear(x, 2 * width, random.chance(50));
  const int64_t second = random.chance(50) ? width : random.below(width + 1);
  Value y = slice(wide, 2, 0, all), z = slice(wide, 2, second, all);
  if (random.chance(30))
    z = make<ActivationOp>(z, Activation::Silu);
  Value sum = make<AddOp>(y, z);
  if (random.chance(20))
    sum = make<AddOp>(
        sum, linear(make<ActivationOp>(wide, Activation::Tanh), width, false));
  return norm(make<AddOp>(x, sum));
}

Value GraphBuilder::elementwise(Value x) {
  // Draw one form; some share a weight or need a norm.
  switch (random.below(9)) {
  case 7: {
    Value y = linear(x, width, random.chance(50));
    return norm(random.chance(50) ? make<AddOp>(y, y) : make<MulOp>(y, y));
  }
  case 8: { // one weight for two products
    Value w = weight({width, width}, 0.5), b = weight({width}, 0.3);
    Value y = make<LinearOp>(x, w, random.chance(50) ? b : Value());
    return residual(x, make<LinearOp>(make<ActivationOp>(y, Activation::Tanh),
                                      w, random.chance(50) ? b : Value()));
  }
  case 0:
    return make<AddOp>(x, weight({width}, 0.5));
  case 1:
    return make<MulOp>(weight({width}, 1.0), x);
  case 2:
    return make<SubOp>(scale(x, random.unit(), random.unit()), constant(0.25));
  case 3:
    return make<DivOp>(
        x, scale(make<ActivationOp>(x, Activation::Sigmoid), 1.0, 1.0));
  case 4:
    return make<ActivationOp>(
        x, random.pick({Activation::Neg, Activation::Tanh, Activation::Sigmoid,
                        Activation::Silu}));
  case 5: {
    Value positive = scale(make<MulOp>(x, x), 1.0, 0.5);
    auto kind = random.chance(50) ? Activation::Sqrt : Activation::Rsqrt;
    return make<MulOp>(x, make<ActivationOp>(positive, kind));
  }
  default: {
    Value bounded = make<ActivationOp>(x, Activation::Tanh);
    return residual(x, make<ActivationOp>(bounded, Activation::Exp));
  }
  }
}

/// Choices by the mask input.
Value GraphBuilder::logic(Value x) {
  Value keep = maskTo({batch, seq, Polynomial(1)});
  switch (random.below(4)) {
  case 0:
    return make<WhereOp>(keep, x, constant(random.unit()));
  case 1:
    return make<WhereOp>(make<NotOp>(keep), scale(x, 0.5), x);
  case 2: {
    Value first = cast(x, builder.getI1Type());
    Value both =
        random.chance(50) ? make<AndOp>(keep, first) : make<OrOp>(first, keep);
    return make<attn::MaskOp>(x, both, number(0.125));
  }
  default: {
    Value factor =
        reshape(cast(mask, builder.getF32Type()), {batch, seq, Polynomial(1)});
    return make<MulOp>(x, factor);
  }
  }
}

/// Moves elements without changing them.
Value GraphBuilder::shuffle(Value x) {
  Polynomial half(width / 2);
  switch (random.below(4)) {
  case 0: {
    Value split = reshape(x, {batch, seq, Polynomial(2), half});
    return reshape(transpose(split, {0, 1, 3, 2}),
                   {batch, seq, Polynomial(width)});
  }
  case 1: {
    Value low = slice(x, 2, 0, half), high = slice(x, 2, width / 2, half);
    return make<ConcatOp>(ValueRange{high, low}, 2);
  }
  case 2: {
    Value flat = reshape(x, {batch * seq, Polynomial(width)});
    return reshape(make<SoftmaxOp>(flat), {batch, seq, Polynomial(width)});
  }
  default: {
    Value turned = transpose(x, {0, 2, 1});
    Value doubled = make<ConcatOp>(ValueRange{turned, turned}, 1);
    return transpose(slice(doubled, 1, width / 2, Polynomial(width)),
                     {0, 2, 1});
  }
  }
}

/// Multiplies activations outside attention; they are normalized, since
/// otherwise they and their rounding errors would grow from layer to layer.
Value GraphBuilder::mixRows(Value x) {
  if (random.chance(50)) {
    Value gram = make<MatmulOp>(x, x, /*transpose_lhs=*/true,
                                /*transpose_rhs=*/false);
    gram = make<SoftmaxOp>(scale(gram, 0.25));
    return norm(
        make<AddOp>(x, make<MatmulOp>(x, gram, false, random.chance(50))));
  }
  Value similar = make<MatmulOp>(x, x, false, true);
  similar = make<ActivationOp>(scale(similar, 0.5 / width), Activation::Tanh);
  return norm(
      make<AddOp>(x, make<MatmulOp>(similar, x, random.chance(50), false)));
}

/// Looks up table rows by index.
Value GraphBuilder::lookUp(Value x) {
  if (!ids)
    return elementwise(x);
  Value table = weight({11, width}, 1.0);
  if (random.chance(50))
    table = make<ActivationOp>(table, Activation::Tanh);
  return residual(x, make<GatherOp>(table, ids));
}

/// A GEMM over the columns around each token; sometimes includes padding.
Value GraphBuilder::convolve(Value x) {
  Value keys = mask && random.chance(80) ? maskTo({batch, seq}) : Value();
  Value near =
      make<NeighborsOp>(x, keys, Value(), uint64_t(random.between(0, 2)));
  return residual(x, linear(near, width, random.chance(80)));
}

} // namespace transom::testing
