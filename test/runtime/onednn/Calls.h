// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls to the shim in tests: a fixture with a model and a session, tensors
// over vectors, and expected results from plain loops in double.
#pragma once
#include "runtime/onednn/OneDnn.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace transom::test {

/// A tensor over a vector's data.
inline transom_onednn_tensor makeTensor(std::vector<float> &data,
                                        const std::vector<int64_t> &dims) {
  transom_onednn_tensor tensor{};
  tensor.data = data.data();
  tensor.rank = int64_t(dims.size());
  std::copy(dims.begin(), dims.end(), tensor.dims);
  return tensor;
}

inline std::vector<float> randomFloats(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> values(-1.0f, 1.0f);
  std::vector<float> floats(count);
  for (float &value : floats)
    value = values(engine);
  return floats;
}

/// An activation in double.
inline double activate(int32_t kind, double x) {
  auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  switch (kind) {
  case TRANSOM_ONEDNN_RELU:
    return std::max(x, 0.0);
  case TRANSOM_ONEDNN_GELU:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  case TRANSOM_ONEDNN_GELU_TANH:
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case TRANSOM_ONEDNN_SILU:
    return x * sigmoid(x);
  case TRANSOM_ONEDNN_QUICK_GELU:
    return x * sigmoid(1.702 * x);
  case TRANSOM_ONEDNN_TANH:
    return std::tanh(x);
  case TRANSOM_ONEDNN_SIGMOID:
    return sigmoid(x);
  default:
    return x;
  }
}

/// A matmul with a weight: data, and a call over them.
struct Product {
  Product(int64_t rows, int64_t n, int64_t k, unsigned seed = 1)
      : rows(rows), n(n), k(k), input(randomFloats(size_t(rows * k), seed)),
        weights(randomFloats(size_t(n * k), seed + 1)),
        bias(randomFloats(size_t(n), seed + 2)),
        residual(randomFloats(size_t(rows * n), seed + 3)),
        out(size_t(rows * n), NAN) {
    call.primitive = TRANSOM_ONEDNN_MATMUL;
    call.input = makeTensor(input, {rows, k});
    call.out = makeTensor(out, {rows, n});
    call.weights = weights.data();
  }

  /// The max difference from the plain loops on the current data; `before` is
  /// the previous content at a residual in the output's memory.
  double error(const std::vector<float> *before = nullptr) const {
    double worst = 0;
    for (int64_t r = 0; r != rows; ++r)
      for (int64_t i = 0; i != n; ++i) {
        double sum = call.bias ? bias[size_t(i)] : 0.0;
        for (int64_t j = 0; j != k; ++j)
          sum += double(input[size_t(r * k + j)]) *
                 double(weights[size_t(i * k + j)]);
        sum = activate(call.activation, sum);
        if (before)
          sum += double((*before)[size_t(r * n + i)]);
        else if (call.residual.data)
          sum += double(residual[size_t(r * n + i)]);
        double difference = std::abs(sum - double(out[size_t(r * n + i)]));
        worst =
            difference > worst || std::isnan(difference) ? difference : worst;
      }
    return worst;
  }

  int64_t rows, n, k;
  std::vector<float> input, weights, bias, residual, out;
  transom_onednn_call call{};
};

/// Has a model; skips tests in builds without oneDNN.
class OneDnnTest : public ::testing::Test {
protected:
  void SetUp() override {
    Result<std::unique_ptr<OneDnnModel>> opened = OneDnnModel::open("avx512");
    if (!opened)
      GTEST_SKIP() << "skipped: " << opened.error().message;
    model = std::move(*opened);
    session = makeSession(2);
  }

  std::unique_ptr<OneDnnSession> makeSession(unsigned threads) {
    Result<std::unique_ptr<OneDnnSession>> made =
        OneDnnSession::create(*model, threads);
    EXPECT_TRUE(bool(made));
    return made ? std::move(*made) : nullptr;
  }

  /// Makes a call on a session; returns the error, or an empty string.
  std::string run(const OneDnnSession &on, const transom_onednn_call &call) {
    const char *text = model->functions().run(
        static_cast<transom_onednn_session *>(on.handle()), &call);
    return text ? text : "";
  }
  std::string run(const transom_onednn_call &call) {
    return run(*session, call);
  }

  std::unique_ptr<OneDnnModel> model;
  std::unique_ptr<OneDnnSession> session;
};

} // namespace transom::test
