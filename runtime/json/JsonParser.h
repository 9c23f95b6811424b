// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing of files that other programs wrote for themselves, such as
// tokenizer_config.json, whose `model_max_length` is often 10^30.
#pragma once
#include "runtime/json/Json.h"

namespace transom {

/// What an integer literal that does not fit 64 bits is: an error, or the
/// `Double` that is nearest to it.
enum class LargeIntegers { Reject, Round };

/// `parseJson` with that choice, which is `Reject` in Json.h.
Result<JsonDocument> parseJson(std::string_view bytes,
                               const std::string &fileName,
                               LargeIntegers largeIntegers);

} // namespace transom
