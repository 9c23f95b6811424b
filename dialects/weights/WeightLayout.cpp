// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weight layout names.
#include "dialects/weights/WeightLayout.h"

using namespace transom;

static constexpr const char *kNames[] = {"unset", "rows", "panels32",
                                         "padded32"};

const char *transom::getLayoutName(WeightLayout layout) {
  return kNames[static_cast<int>(layout)];
}

std::optional<WeightLayout> transom::parseWeightLayout(std::string_view name) {
  for (int i = 0; i < 4; ++i)
    if (name == kNames[i])
      return static_cast<WeightLayout>(i);
  return std::nullopt;
}
