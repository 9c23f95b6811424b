// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations over dense sweeps: their accuracy against double functions in the
// C library, and their bits against the definition in Reference.h.
#include "test/passes/lower/PhaseText.h"
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace transom::test;

namespace {

constexpr double kSqrt2 = 1.4142135623730951;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return x / 2 * std::erfc(-x / kSqrt2); }
double geluTanh(double x) {
  return x / 2 *
         (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

/// An activation with its error bound: `ulps` in the result, or `absolute`.
struct Activation {
  const char *kind;
  double (*exact)(double);
  double ulps;
  double absolute;
  double from, to;
};

const Activation kActivations[] = {
    {"exp", [](double x) { return std::exp(x); }, 3, 0, -87, 88.7},
    {"tanh", [](double x) { return std::tanh(x); }, 4, 0, -12, 12},
    {"sigmoid", sigmoid, 5, 0, -80, 80},
    {"silu", [](double x) { return x * sigmoid(x); }, 6, 0, -80, 80},
    {"quick_gelu", [](double x) { return x * sigmoid(1.702 * x); }, 40, 1e-7,
     -40, 40},
    {"gelu", gelu, 8, 5e-7, -12, 12},
    {"gelu_tanh", geluTanh, 8, 4e-7, -12, 12},
    {"relu", [](double x) { return x > 0 ? x : 0; }, 0, 0, -10, 10},
    {"neg", [](double x) { return -x; }, 0, 0, -10, 10},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0.5, 0, 0, 1e6},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.5, 0, 1e-6, 1e6},
    {"log1p_relu", [](double x) { return x < 0 ? 0 : std::log1p(x); }, 3, 0,
     -10, 1e4},
};

/// The distance between adjacent floats at this value.
double ulpAt(double value) {
  float size = std::max(std::fabs(float(value)), 1.2e-38f);
  return std::nextafter(size, INFINITY) - size;
}

std::string moduleText() {
  std::string text, type = bufferType("n");
  for (const Activation &a : kActivations)
    text += phaseFunction({a.kind, "%x: " + type + ", %y: " + type, "",
                           "kern.elementwise ins(%x) outs(%y) {\n    ^bb0(%v: "
                           "f32):\n      %a = kern.apply <" +
                               std::string(a.kind) +
                               "> %v\n      kern.yield %a : f32\n    } : (" +
                               type + ") -> " + type});
  return text;
}

KernelHarness &harness() {
  static KernelHarness compiled(moduleText());
  return compiled;
}

std::vector<float> apply(const std::string &isa, const char *kind,
                         const std::vector<float> &x) {
  Guarded<float> in(x), out(x.size());
  harness().run(isa, kind,
                {{{"n", int64_t(x.size())}}, {in.data(), out.data()}, {}, 1});
  return out.copy();
}

/// Points in [from, to]: evenly spaced, and by powers down to tiny magnitudes
/// on both sides.
std::vector<float> sweep(double from, double to) {
  std::vector<float> points;
  const int count = 200000;
  for (int i = 0; i <= count; ++i)
    points.push_back(float(from + (to - from) * i / count));
  for (double size = std::max(std::fabs(from), std::fabs(to)); size > 1e-30;
       size *= 0.9991)
    for (double x : {size, -size})
      if (x >= from && x <= to)
        points.push_back(float(x));
  return points;
}

} // namespace

TEST(Math, AccuracyAndBits) {
  for (const Activation &a : kActivations) {
    std::vector<float> x = sweep(a.from, a.to), defined;
    for (float point : x)
      defined.push_back(referenceActivation(a.kind, point));
    for (const std::string &isa : harness().isas()) {
      SCOPED_TRACE(isa + " " + a.kind);
      std::vector<float> y = apply(isa, a.kind, x);
      double worst = 0, worstAt = 0, worstError = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        double exact = a.exact(x[i]), error = std::fabs(y[i] - exact);
        worstError = std::max(worstError, error);
        if (error > a.absolute && error / ulpAt(exact) > worst)
          worst = error / ulpAt(exact), worstAt = x[i];
      }
      EXPECT_LE(worst, a.ulps)
          << "at " << worstAt << ", largest error " << worstError;
      RecordProperty(isa + "_" + a.kind, std::to_string(worst) +
                                             " ulp, error " +
                                             std::to_string(worstError));
      EXPECT_EQ(differentBits(y.data(), defined.data(), y.size()), "");
    }
  }
}

TEST(Math, Limits) {
  struct Point {
    const char *kind;
    float x, y;
  };
  const Point points[] = {{"exp", -INFINITY, 0},
                          {"exp", -200, 0},
                          {"exp", INFINITY, INFINITY},
                          {"exp", 0, 1},
                          {"exp", 100, INFINITY},
                          {"tanh", INFINITY, 1},
                          {"tanh", -INFINITY, -1},
                          {"tanh", 40, 1},
                          {"tanh", -40, -1},
                          {"tanh", 0, 0},
                          {"sigmoid", -INFINITY, 0},
                          {"sigmoid", INFINITY, 1},
                          {"sigmoid", 0, 0.5},
                          {"gelu", 30, 30},
                          {"gelu", 0, 0},
                          {"gelu_tanh", 30, 30},
                          {"silu", 100, 100},
                          {"relu", -1, 0},
                          {"sqrt", 4, 2},
                          {"rsqrt", 4, 0.5}};
  for (const std::string &isa : harness().isas())
    for (const Point &p : points)
      EXPECT_EQ(apply(isa, p.kind, {p.x})[0], p.y)
          << isa << " " << p.kind << " " << p.x;
}

TEST(Math, NanStaysNan) {
  for (const std::string &isa : harness().isas())
    for (const Activation &a : kActivations)
      EXPECT_TRUE(std::isnan(apply(isa, a.kind, {NAN})[0]))
          << isa << " " << a.kind;
}

TEST(Math, ActivationsVanishAtLargeNegativeNumbers) {
  for (const std::string &isa : harness().isas())
    for (const char *kind : {"gelu", "gelu_tanh", "silu", "quick_gelu"})
      for (float x : {-120.0f, -1000.0f, -1.0e30f})
        EXPECT_EQ(std::fabs(apply(isa, kind, {x})[0]), 0)
            << isa << " " << kind << " " << x;
}
