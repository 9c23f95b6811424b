// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Polynomial and rational approximations for activations and softmax.
#include "passes/lower/emit/VectorMath.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <limits>

using namespace mlir;
using namespace transom::lower;

/// Evaluates a polynomial by Horner's rule; coefficients start with the
/// constant term.
static Value horner(CodeEmitter &e, Value x, ArrayRef<double> coefficients) {
  Value sum = e.splat(coefficients.back());
  for (double c : llvm::reverse(coefficients.drop_back()))
    sum = e.fma(sum, x, e.splat(c));
  return sum;
}

/// 2^f for |f| <= 1/2, interpolated at Chebyshev nodes; relative error 8e-8.
static Value exp2Fraction(CodeEmitter &e, Value f) {
  return horner(e, f,
                {1.0, 0.6931472067106192, 0.24022651213595259,
                 0.05550327214209211, 0.009618025602937879,
                 0.0013400432165501582, 0.00015469731983877433});
}

/// Clamps x to [low, high]; a NaN remains a NaN.
static Value clamp(CodeEmitter &e, Value x, double low, double high) {
  return e.minF(e.splat(high), e.maxF(e.splat(low), x));
}

static Value toInt(CodeEmitter &e, Value x) {
  Type type = e.getVectorType(e.builder().getI32Type());
  return e.builder().create<arith::FPToSIOp>(e.location(), type, x);
}
/// x * 2^n, by adding n to the exponent bits.
static Value addExponent(CodeEmitter &e, Value x, Value n) {
  OpBuilder &b = e.builder();
  Type bits = e.getVectorType(b.getI32Type());
  Value shifted = b.create<arith::ShLIOp>(e.location(), n, e.splatI32(23));
  Value sum = b.create<arith::AddIOp>(
      e.location(), b.create<arith::BitcastOp>(e.location(), bits, x), shifted);
  return b.create<arith::BitcastOp>(e.location(), e.f32Vector(), sum);
}

static Value integer(CodeEmitter &e, int64_t value, unsigned bits) {
  return e.builder().create<arith::ConstantIntOp>(e.location(), value, bits);
}

/// p * 2^floor(x) in the lanes of `keep`, else zero.
static Value scaleByFloor(CodeEmitter &e, Value p, Value x, Value keep) {
  Value mask = e.builder().create<LLVM::BitcastOp>(
      e.location(), e.builder().getI16Type(), keep);
  return e.intrinsic(e.f32Vector(), "llvm.x86.avx512.mask.scalef.ps.512",
                     {p, x, e.splat(0.0), mask, integer(e, 4, 32)});
}

Value transom::lower::emitExp2OfNonPositive(CodeEmitter &e, Value x) {
  // 2^f for 0 <= f <= 1, exact at 0; absolute error 1.2e-7.
  const double coefficients[] = {1.0,           0.69315248728, 0.24015279114,
                                 0.05583592132, 0.00897337683, 0.00188529585};
  // Below -126 the result is zero.
  Value lowest = e.splat(-126.0);
  Value vanishes = e.cmpLtF(x, lowest);
  bool scales = e.getIsa().vectorBits == 512;
  // vscalefps masks lanes with a zero result, so x needs no clamp before it.
  Value bounded = scales ? x : e.maxF(lowest, x);
  // 2^x = 2^floor(x) * 2^(x - floor(x)).
  Value n = e.builder().create<LLVM::FFloorOp>(e.location(), bounded);
  Value p = horner(e, e.subF(bounded, n), coefficients);
  if (scales)
    return scaleByFloor(e, p, x, e.logicalNot(vanishes));
  return e.select(vanishes, e.splat(0.0), addExponent(e, p, toInt(e, n)));
}

Value transom::lower::emitIsEmptySum(CodeEmitter &e, Value sum) {
  return e.cmpLtF(sum, e.splat(0x1p-64));
}

Value transom::lower::emitExp(CodeEmitter &e, Value x) {
  OpBuilder &b = e.builder();
  // Reduce the argument (Cody and Waite): x = n ln 2 + r with ln 2 as a sum of
  // two constants, so e^x = 2^n 2^(r log2 e).
  Value bounded = clamp(e, x, -104.0, 89.0);
  // Adding 1.5 * 2^23 rounds to an integer in the low bits.
  Value shift = e.splat(12582912.0);
  Value shifted = e.fma(bounded, e.splat(1.4426950408889634), shift);
  Value n = e.subF(shifted, shift);
  Value r = e.fma(n, e.splat(-0.693145751953125), bounded);
  r = e.fma(n, e.splat(-1.428606765330187e-06), r);
  Value p = exp2Fraction(e, e.mulF(r, e.splat(1.4426950408889634)));
  // Scale by 2^(n/2) twice: 2^n may overflow even if p * 2^n does not.
  Type bits = e.getVectorType(b.getI32Type());
  Value ni = b.create<arith::SubIOp>(
      e.location(), b.create<arith::BitcastOp>(e.location(), bits, shifted),
      e.splatI32(0x4b400000));
  Value half = b.create<arith::ShRSIOp>(e.location(), ni, e.splatI32(1));
  Value rest = b.create<arith::SubIOp>(e.location(), ni, half);
  Value one = e.splat(1.0);
  return e.mulF(e.mulF(p, addExponent(e, one, half)),
                addExponent(e, one, rest));
}

Value transom::lower::emitErf(CodeEmitter &e, Value x) {
  // x P(t) with t = 2 x^2 / 3.92^2 - 1 in [-1, 1], where P has small
  // coefficients, fitted to minimize the max error. It avoids a division, which
  // would take as long as this whole function. Beyond 3.92 the result is
  // exactly +-1, so gelu is 0 for large negative inputs.
  Value z = clamp(e, x, -3.92, 3.92);
  Value t = e.fma(e.mulF(z, z), e.splat(2.0 / (3.92 * 3.92)), e.splat(-1.0));
  return e.mulF(
      z, horner(e, t,
                {0.36073682, -0.18010864, 0.13408427, -0.1091785, 0.09060231,
                 -0.07403017, 0.058358494, -0.043374684, 0.029820837,
                 -0.020180436, 0.01400489, -0.007371947, 0.0020871249,
                 -0.0016186949, 0.0020457653, -0.00077541143}));
}

static Value sigmoid(CodeEmitter &e, Value x) {
  Value one = e.splat(1.0);
  Value negative = e.subF(e.splat(0.0), x);
  return e.divF(one, e.addF(one, emitExp(e, negative)));
}

/// (1 - t) / (1 + t) with t = e^(-2|x|) and the sign of x. Near zero, where 1 -
/// t would cancel, a short odd polynomial.
static Value tanh(CodeEmitter &e, Value x) {
  Value zero = e.splat(0.0), one = e.splat(1.0);
  Value negative = e.cmpLtF(x, zero);
  Value size = e.select(negative, e.subF(zero, x), x);
  Value t = emitExp(e, e.mulF(size, e.splat(-2.0)));
  Value large = e.divF(e.subF(one, t), e.addF(one, t));
  Value u = e.mulF(x, x);
  Value series =
      horner(e, u, {1.0, -1.0 / 3, 2.0 / 15, -17.0 / 315, 62.0 / 2835});
  Value small = e.mulF(size, series);
  Value value = e.select(e.cmpLtF(size, e.splat(0.3)), small, large);
  return e.select(negative, e.subF(zero, value), value);
}

static Value gelu(CodeEmitter &e, Value x) {
  Value half = e.mulF(x, e.splat(0.5));
  Value erf = emitErf(e, e.mulF(x, e.splat(0.7071067811865476)));
  return e.fma(half, erf, half);
}

/// x / 2 (1 + tanh(y)) as x sigmoid(2 y).
static Value geluTanh(CodeEmitter &e, Value x) {
  Value cube = e.mulF(e.mulF(x, x), x);
  Value inner = e.mulF(e.fma(cube, e.splat(0.044715), x),
                       e.splat(2 * 0.7978845608028654));
  return e.mulF(x, sigmoid(e, inner));
}

/// log(u) with u = 1 + max(x, 0), corrected by the rounding error of u over u.
static Value log1pRelu(CodeEmitter &e, Value x) {
  OpBuilder &b = e.builder();
  Value one = e.splat(1.0), y = e.maxF(e.splat(0.0), x), u = e.addF(one, y);
  Value lost = e.divF(e.subF(y, e.subF(u, one)), u);
  // u = 2^n m with m in [sqrt(1/2), sqrt(2)), by the bits of sqrt(1/2).
  Type integers = e.getVectorType(b.getI32Type());
  Value bits = b.create<arith::BitcastOp>(e.location(), integers, u);
  Value n = b.create<arith::ShRSIOp>(
      e.location(),
      b.create<arith::SubIOp>(e.location(), bits, e.splatI32(0x3f3504f3)),
      e.splatI32(23));
  Value exponent = b.create<arith::ShLIOp>(e.location(), n, e.splatI32(23));
  Value m = b.create<arith::BitcastOp>(
      e.location(), e.f32Vector(),
      b.create<arith::SubIOp>(e.location(), bits, exponent));
  // log(1 + f) = f - f^2 / 2 + f^3 Q(f); relative error 7e-9.
  Value f = e.subF(m, one);
  Value q = horner(e, f,
                   {0.333333164, -0.250008076, 0.200022861, -0.166245952,
                    0.141812176, -0.131284177, 0.128813803, -0.0786014125});
  Value log = e.fma(e.mulF(f, f), e.fma(f, q, e.splat(-0.5)), f);
  Value whole = b.create<arith::SIToFPOp>(e.location(), e.f32Vector(), n);
  Value sum = e.fma(whole, e.splat(0.6931471805599453), e.addF(log, lost));
  // Infinity and NaN are returned unchanged.
  Value isFinite =
      e.cmpLtF(y, e.splat(std::numeric_limits<double>::infinity()));
  return e.select(isFinite, sum, y);
}

Value transom::lower::emitActivation(CodeEmitter &e, Activation kind, Value x) {
  // Each activation is one of the functions above or a few operations.
  switch (kind) {
  case Activation::Relu:
    return e.maxF(e.splat(0.0), x);
  case Activation::Gelu:
    return gelu(e, x);
  case Activation::GeluTanh:
    return geluTanh(e, x);
  case Activation::QuickGelu:
    return e.mulF(x, sigmoid(e, e.mulF(x, e.splat(1.702))));
  case Activation::Silu:
    return e.mulF(x, sigmoid(e, x));
  case Activation::Tanh:
    return tanh(e, x);
  case Activation::Sigmoid:
    return sigmoid(e, x);
  case Activation::Exp:
    return emitExp(e, x);
  case Activation::Neg:
    return e.subF(e.splat(0.0), x);
  case Activation::Sqrt:
    return e.sqrtF(x);
  case Activation::Rsqrt:
    return e.divF(e.splat(1.0), e.sqrtF(x));
  case Activation::Log1pRelu:
    return log1pRelu(e, x);
  }
  llvm_unreachable("unknown activation");
}
