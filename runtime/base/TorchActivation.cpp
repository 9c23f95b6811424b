// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Look-ups in the table with torch's activation modules.
#include "runtime/base/TorchActivation.h"
#include "runtime/base/Activation.h"
#include <cmath>

using namespace transom;

static double logistic(double x) {
  return getActivationInfo(Activation::Sigmoid).evaluate(x);
}

static double softplus(double x) {
  return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
}

/// A NaN stays a NaN.
static double clamp(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

namespace {
struct Row {
  const char *name;
  double (*evaluate)(double);
};
const Row rows[] = {
#define TRANSOM_ROW(NAME, ...)                                                 \
  {#NAME, [](double x) -> double { return __VA_ARGS__; }},
    TRANSOM_FOR_EACH_TORCH_ACTIVATION(TRANSOM_ROW)
#undef TRANSOM_ROW
};
} // namespace

std::optional<TorchActivation>
transom::parseTorchActivation(std::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot != std::string_view::npos) {
    const std::string_view module = path.substr(0, dot);
    if (module != "torch.nn" && module != "torch.nn.modules" &&
        module != "torch.nn.modules.activation" &&
        module != "torch.nn.modules.linear")
      return std::nullopt;
    path.remove_prefix(dot + 1);
  }
  for (const Row &row : rows)
    if (path == row.name)
      return static_cast<TorchActivation>(&row - rows);
  return std::nullopt;
}

const char *transom::getTorchActivationName(TorchActivation kind) {
  return rows[static_cast<size_t>(kind)].name;
}

std::vector<std::string> transom::getTorchActivationNames() {
  std::vector<std::string> names;
  for (const Row &row : rows)
    names.emplace_back(row.name);
  return names;
}

double transom::applyTorchActivation(TorchActivation kind, double x) {
  return rows[static_cast<size_t>(kind)].evaluate(x);
}
