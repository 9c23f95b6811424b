// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The torch.nn activation modules that sentence-transformers names by class,
// without arguments, in Dense modules and for cross-encoder scores.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// ROW(class name, value for a double x with the default arguments). Formulas
/// follow torch's documentation, in evaluation mode.
#define TRANSOM_FOR_EACH_TORCH_ACTIVATION(ROW)                                 \
  ROW(Identity, x)                                                             \
  ROW(ReLU, x < 0 ? 0 : x)                                                     \
  ROW(ReLU6, clamp(x, 0, 6))                                                   \
  ROW(LeakyReLU, x > 0 ? x : 0.01 * x)                                         \
  ROW(PReLU, x > 0 ? x : 0.25 * x)                                             \
  ROW(RReLU, x > 0 ? x : (1.0 / 8 + 1.0 / 3) / 2 * x)                          \
  ROW(ELU, x > 0 ? x : std::expm1(x))                                          \
  ROW(CELU, x > 0 ? x : std::expm1(x))                                         \
  ROW(SELU, seluScale *(x > 0 ? x : seluAlpha * std::expm1(x)))                \
  ROW(GELU, 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))))                      \
  ROW(SiLU, x *logistic(x))                                                    \
  ROW(Mish, x *std::tanh(softplus(x)))                                         \
  ROW(Sigmoid, logistic(x))                                                    \
  ROW(LogSigmoid, -softplus(-x))                                               \
  ROW(Softplus, softplus(x))                                                   \
  ROW(Softsign, x / (1 + std::fabs(x)))                                        \
  ROW(Tanh, std::tanh(x))                                                      \
  ROW(Tanhshrink, x - std::tanh(x))                                            \
  ROW(Hardtanh, clamp(x, -1, 1))                                               \
  ROW(Hardsigmoid, clamp(x + 3, 0, 6) / 6)                                     \
  ROW(Hardswish, x *clamp(x + 3, 0, 6) / 6)                                    \
  ROW(Hardshrink, std::fabs(x) <= 0.5 ? 0 : x)                                 \
  ROW(Softshrink, x - clamp(x, -0.5, 0.5))

/// An activation module.
enum class TorchActivation : int {
#define TRANSOM_ENUMERATOR(NAME, ...) NAME,
  TRANSOM_FOR_EACH_TORCH_ACTIVATION(TRANSOM_ENUMERATOR)
#undef TRANSOM_ENUMERATOR
};

/// SELU constants (Klambauer et al. 2017).
inline constexpr double seluAlpha = 1.6732632423543772848170429916717,
                        seluScale = 1.0507009873554804934193349852946;

/// Returns the activation for a class name or its torch path:
/// `torch.nn.modules.activation.ELU`. Nullopt for other paths.
std::optional<TorchActivation> parseTorchActivation(std::string_view path);
/// Its class name.
const char *getTorchActivationName(TorchActivation kind);
/// All class names, in the order of the table.
std::vector<std::string> getTorchActivationNames();
/// Evaluates the activation at x.
double applyTorchActivation(TorchActivation kind, double x);

} // namespace transom
