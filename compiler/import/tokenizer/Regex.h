// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regular expressions to programs of the runtime's splitter. The syntax is
// Oniguruma's for Ruby, which the tokenizers library uses, as far as an
// automaton without memory can follow it: characters, classes, groups,
// alternatives, quantifiers, and a look at the next character.
#pragma once
#include "compiler/import/tokenizer/CharSet.h"
#include "runtime/base/Error.h"
#include <string>
#include <string_view>

namespace transom::tokenizer {

/// The program of a pattern, or `Unsupported` with the construct that is not
/// supported: `unsupported regular expression 'a(?<=b)': look-behind`.
Result<std::string> compileRegex(std::string_view pattern);

/// The program that finds `text` itself, which is not empty.
Result<std::string> compileLiteral(std::string_view text);

/// The program that finds single characters of `set`.
Result<std::string> compileSet(const CharSet &set);

} // namespace transom::tokenizer
