// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regular expressions to programs of the runtime's splitter. The syntax is
// Oniguruma's for Ruby, which the tokenizers library uses, as far as automata
// without memory can follow it: everything but backreferences, calls of groups,
// absent and conditional groups, and the escapes \G, \K, \X and \y.
#pragma once
#include "compiler/import/tokenizer/regex/RegexTree.h"
#include "runtime/base/Error.h"
#include <string>
#include <string_view>

namespace transom::tokenizer {

/// The program of a pattern, or `Unsupported` with the construct that is not
/// supported: `unsupported regular expression '(a)\1': a backreference '\1'`.
Result<std::string> compileRegex(std::string_view pattern);

/// The program of a parsed pattern; the error does not name the pattern.
/// `literal` is the only match, if that is one character, else 0.
Result<std::string> compileTree(const RegexNode &tree, char32_t literal = 0);

/// The program that finds `text` itself.
Result<std::string> compileLiteral(std::string_view text);

/// The program that finds single characters of `set`.
Result<std::string> compileSet(const CharSet &set);

} // namespace transom::tokenizer
