// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `quantization_config` in config.json: the integer storage format for a
// checkpoint's tensors.
#pragma once
#include "runtime/json/Json.h"
#include <string>
#include <vector>

namespace transom {

/// A checkpoint's quantization.
struct QuantizationConfig {
  enum class Layout {
    Gptq,   ///< qweight packed along k, scales and zero points of groups
    Awq,    ///< qweight packed along n, in AWQ kernel order
    Packed, ///< weight_packed along k, of compressed-tensors
    Plain   ///< int8 weight with weight_scale
  };
  Layout layout = Layout::Gptq;
  int64_t bits = 4;
  int64_t group = 0;       ///< quantization group size along k; 0: a whole row
  bool zeroIsLess = false; ///< stored zero points are one too low
  std::vector<std::string> notes;
};

/// Reads the key's value. `Unsupported` for a method, or for a key that changes
/// results and that no reader supports.
Result<QuantizationConfig> readQuantizationConfig(JsonValue value);

} // namespace transom
