// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Look-ups in the activation table.
#include "runtime/base/Activation.h"
#include <cmath>

using namespace transom;

static double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

const std::vector<ActivationInfo> &transom::getActivations() {
  using namespace activation;
#define TRANSOM_ROW(KIND, NAME, USAGE, DEFINITION, DESCRIPTION)                \
  {Activation::KIND, NAME, USAGE,                                              \
   [](double x) -> double { return DEFINITION; }, DESCRIPTION},
  static const std::vector<ActivationInfo> rows = {
      TRANSOM_FOR_EACH_ACTIVATION(TRANSOM_ROW)};
#undef TRANSOM_ROW
  return rows;
}

const ActivationInfo &transom::getActivationInfo(Activation kind) {
  return getActivations()[static_cast<size_t>(kind)];
}

std::string_view transom::getActivationName(Activation kind) {
  return getActivationInfo(kind).name;
}

std::string transom::getActivationName(std::optional<Activation> kind) {
  return kind ? getActivationInfo(*kind).name : "";
}

std::optional<Activation> transom::parseActivation(std::string_view name) {
  for (const ActivationInfo &row : getActivations())
    if (name == row.name)
      return row.kind;
  return std::nullopt;
}

std::vector<std::string> transom::getActivationNames(int usage) {
  std::vector<std::string> names;
  for (const ActivationInfo &row : getActivations())
    if ((row.usage & usage) == usage)
      names.push_back(row.name);
  return names;
}
