// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most activations are composed of a few others. They follow one projection of
// a text embedding, so their cost is negligible.
#include "compiler/import/huggingface/sentence_transformers/TorchActivations.h"

using namespace mlir;
using namespace transom;

namespace {

/// Builds one activation's operations. min(x, 0) is -relu(-x).
class ActivationBlock {
public:
  ActivationBlock(Emitter &emit, Value x) : emit(emit), x(x) {}
  Value build(TorchActivation kind, Value slope);

private:
  Value apply(Value value, Activation kind) {
    return emit.activation(value, kind);
  }
  Value relu(Value value) { return apply(value, Activation::Relu); }
  Value multiply(Value a, Value b) { return emit.make<attn::MulOp>(a, b); }
  Value subtract(Value a, Value b) { return emit.make<attn::SubOp>(a, b); }
  Value negative() { return relu(emit.scale(x, -1)); }
  /// Returns x for x > 0, else `slope` times x.
  Value leak(double slope) {
    return emit.add(relu(x), emit.scale(negative(), -slope));
  }
  /// Returns x for x > 0, else exp(x) - 1, times `scale` and `alpha`.
  Value exponential(double scale, double alpha) {
    Value below = emit.scale(apply(emit.scale(negative(), -1), Activation::Exp),
                             alpha, -alpha);
    return emit.scale(emit.add(relu(x), below), scale);
  }
  Value getSize(Value value) {
    return emit.add(relu(value), relu(emit.scale(value, -1)));
  }
  /// log(1 + exp(value)).
  Value softplus(Value value) {
    Value below = apply(emit.scale(getSize(value), -1), Activation::Exp);
    return emit.add(relu(value), apply(below, Activation::Log1pRelu));
  }
  /// min(max(value + offset, 0), high), times `scale`, plus `shift`.
  Value clamp(Value value, double offset, double high, double scale = 1,
              double shift = 0) {
    Value above = relu(emit.scale(value, 1, offset));
    return emit.scale(relu(emit.scale(above, -1, high)), -scale,
                      scale * high + shift);
  }
  Value softshrink() {
    return subtract(relu(emit.scale(x, 1, -0.5)),
                    relu(emit.scale(x, -1, -0.5)));
  }
  Value buildComposed(TorchActivation kind, Value slope);

  Emitter &emit;
  Value x;
};

} // namespace

Value ActivationBlock::buildComposed(TorchActivation kind, Value slope) {
  switch (kind) {
  case TorchActivation::ReLU6:
    return clamp(x, 0, 6);
  case TorchActivation::LeakyReLU:
    return leak(0.01);
  case TorchActivation::PReLU:
    return slope ? subtract(relu(x), multiply(negative(), slope)) : leak(0.25);
  case TorchActivation::RReLU:
    return leak((1.0 / 8 + 1.0 / 3) / 2);
  case TorchActivation::ELU:
  case TorchActivation::CELU:
    return exponential(1, 1);
  case TorchActivation::SELU:
    return exponential(seluScale, seluAlpha);
  case TorchActivation::Mish:
    return multiply(x, apply(softplus(x), Activation::Tanh));
  case TorchActivation::LogSigmoid:
    return emit.scale(softplus(emit.scale(x, -1)), -1);
  case TorchActivation::Softplus:
    return softplus(x);
  case TorchActivation::Softsign:
    return emit.make<attn::DivOp>(x, emit.scale(getSize(x), 1, 1));
  case TorchActivation::Tanhshrink:
    return subtract(x, apply(x, Activation::Tanh));
  case TorchActivation::Hardtanh:
    return clamp(x, 1, 2, 1, -1);
  case TorchActivation::Hardsigmoid:
    return clamp(x, 3, 6, 1.0 / 6);
  case TorchActivation::Hardswish:
    return multiply(x, clamp(x, 3, 6, 1.0 / 6));
  case TorchActivation::Hardshrink:
    return multiply(
        x, emit.cast(emit.cast(softshrink(), DType::Bool), DType::F32));
  case TorchActivation::Softshrink:
    return softshrink();
  default:
    return x;
  }
}

/// Activations in the activation table are a single operation.
Value ActivationBlock::build(TorchActivation kind, Value slope) {
  switch (kind) {
  case TorchActivation::ReLU:
    return relu(x);
  case TorchActivation::GELU:
    return apply(x, Activation::Gelu);
  case TorchActivation::SiLU:
    return apply(x, Activation::Silu);
  case TorchActivation::Sigmoid:
    return apply(x, Activation::Sigmoid);
  case TorchActivation::Tanh:
    return apply(x, Activation::Tanh);
  default:
    return buildComposed(kind, slope);
  }
}

Value transom::emitTorchActivation(Emitter &emit, TorchActivation kind, Value x,
                                   Value slope) {
  return ActivationBlock(emit, x).build(kind, slope);
}
