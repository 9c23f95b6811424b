// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a pattern matches in a text.
#pragma once
#include "compiler/import/tokenizer/regex/Regex.h"
#include <string>

namespace transom::tokenizer {

/// The elements of `text`, matches in brackets; or the pattern's error.
std::string cut(std::string_view pattern, std::string_view text);

} // namespace transom::tokenizer
