// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pattern matches in a text.
#pragma once
#include "compiler/import/tokenizer/regex/Regex.h"
#include <string>

namespace transom::tokenizer {

/// Returns the elements in `text`, matches in brackets; or the pattern's error.
std::string cut(std::string_view pattern, std::string_view text);

} // namespace transom::tokenizer
