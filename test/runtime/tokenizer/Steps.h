// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists with steps in the table format.
#pragma once
#include "runtime/tokenizer/Tables.h"
#include <initializer_list>
#include <string>

namespace transom::tokenizer {

/// Steps without texts, as tables have them.
template <typename Kind> class Steps {
public:
  explicit Steps(std::initializer_list<Kind> kinds) {
    for (Kind kind : kinds) {
      Step step{};
      step.kind = static_cast<uint32_t>(kind);
      bytes.append(reinterpret_cast<const char *>(&step), sizeof step);
    }
  }
  operator StepList() const { return {ArrayView<Step>(bytes), {}}; }

private:
  std::string bytes;
};

} // namespace transom::tokenizer
