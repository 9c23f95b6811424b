// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The activation functions. This table is their only list: dialects, importers,
// evaluator, manifest and graph.json read it. For a new activation see
// docs/extending.md.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// ROW(enumerator, name, usage, definition for a double x, description). Rows
/// have the same order as the functions in the graph.json reference.
#define TRANSOM_FOR_EACH_ACTIVATION(ROW)                                       \
  ROW(Relu, "relu", Model | OneDnn, x > 0 ? x : 0, "max(x, 0).")               \
  ROW(Gelu, "gelu", Model | OneDnn,                                            \
      0.5 * x * (1 + std::erf(x / std::sqrt(2.0))),                            \
      "x times the normal distribution function, with erf.")                   \
  ROW(GeluTanh, "gelu_tanh", Model | OneDnn,                                   \
      0.5 * x *                                                                \
          (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))),   \
      "The tanh form of gelu.")                                                \
  ROW(QuickGelu, "quick_gelu", Model | OneDnn, x * sigmoid(1.702 * x),         \
      "x * sigmoid(1.702 x).")                                                 \
  ROW(Silu, "silu", Model | OneDnn, x * sigmoid(x), "x * sigmoid(x).")         \
  ROW(Tanh, "tanh", Model | OneDnn, std::tanh(x), "The hyperbolic tangent.")   \
  ROW(Sigmoid, "sigmoid", Model | OneDnn, sigmoid(x), "1 / (1 + exp(-x)).")    \
  ROW(Exp, "exp", None, std::exp(x), "e to the x.")                            \
  ROW(Neg, "neg", None, -x, "-x.")                                             \
  ROW(Sqrt, "sqrt", None, std::sqrt(x), "The square root.")                    \
  ROW(Rsqrt, "rsqrt", None, 1 / std::sqrt(x), "1 / sqrt(x).")                  \
  ROW(Log1pRelu, "log1p_relu", None, x < 0 ? 0 : std::log1p(x),                \
      "log(1 + max(x, 0)).")

/// An elementwise activation function.
enum class Activation : int {
#define TRANSOM_ENUMERATOR(KIND, ...) KIND,
  TRANSOM_FOR_EACH_ACTIVATION(TRANSOM_ENUMERATOR)
#undef TRANSOM_ENUMERATOR
};

/// Flags: who accepts an activation in addition to the dialects' operations.
namespace activation {
constexpr int None = 0;
constexpr int Model = 1;  ///< config.json may name it by this name
constexpr int OneDnn = 2; ///< oneDNN has it; see docs/extending.md
} // namespace activation

/// One table row.
struct ActivationInfo {
  Activation kind;
  const char *name; ///< in the IR, the manifest and graph.json
  int usage;        ///< flags of namespace `activation`
  double (*evaluate)(double);
  const char *description;
};

/// All activations, in the order of the enum.
const std::vector<ActivationInfo> &getActivations();
/// Returns the row for an activation.
const ActivationInfo &getActivationInfo(Activation kind);
/// Returns the name used in the IR, the manifest and graph.json.
std::string_view getActivationName(Activation kind);
/// The same; an empty string for nullopt.
std::string getActivationName(std::optional<Activation> kind);
/// Returns the activation with this name, or nullopt.
std::optional<Activation> parseActivation(std::string_view name);
/// Returns the names of all activations that have every flag in `usage`, in
/// table order.
std::vector<std::string> getActivationNames(int usage = activation::None);

} // namespace transom
