// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `quantization_config` of config.json: how the tensors of a checkpoint hold
// whole numbers.
#pragma once
#include "runtime/json/Json.h"
#include <string>
#include <vector>

namespace transom {

/// How a checkpoint was quantized.
struct QuantizationConfig {
  enum class Layout {
    Gptq,   ///< qweight packed along k, scales and zero points of groups
    Awq,    ///< qweight packed along n in the order of AWQ's kernel
    Packed, ///< weight_packed along k, of compressed-tensors
    Plain   ///< weight of int8 with weight_scale
  };
  Layout layout = Layout::Gptq;
  int64_t bits = 4;
  int64_t group = 0;       ///< numbers along k with a scale; 0: all of a row
  bool zeroIsLess = false; ///< stored zero points are one less than meant
  std::vector<std::string> notes;
};

/// Reads the value of the key. `Unsupported` for a method or a key that changes
/// results in a way that no reader knows.
Result<QuantizationConfig> readQuantizationConfig(JsonValue value);

} // namespace transom
