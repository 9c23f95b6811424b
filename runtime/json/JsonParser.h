// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing for files that Python programs write for their own use, such as
// tokenizer_config.json, whose `model_max_length` is often 10^30.
#pragma once
#include "runtime/json/Json.h"

namespace transom {

/// The numbers that JSON input may contain.
enum class JsonNumbers {
  /// As in JSON; integers fit 64 bits.
  Strict,
  /// As Python's json module reads them: an integer that does not fit 64 bits
  /// is the nearest `Double`, which `asInt` refuses as too large; `NaN`,
  /// `Infinity`, `-Infinity` and literals outside the double range are also
  /// `Double`.
  Python
};

/// `parseJson` with this choice; Json.h uses `Strict`.
Result<JsonDocument> parseJson(std::string_view bytes,
                               const std::string &fileName,
                               JsonNumbers numbers);
/// The same for a file.
Result<JsonDocument> parseJsonFile(const std::string &path,
                                   JsonNumbers numbers);

} // namespace transom
