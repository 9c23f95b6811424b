// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles regular expressions to programs for the runtime's splitter. The
// syntax is Oniguruma's for Ruby, which the tokenizers library uses, as far as
// finite automata support it: everything except for backreferences, group
// calls, absent and conditional groups, and the escapes \G, \K, \X and \y.
#pragma once
#include "compiler/import/tokenizer/regex/RegexTree.h"
#include "runtime/base/Error.h"
#include <string>
#include <string_view>

namespace transom::tokenizer {

/// Compiles a pattern; `Unsupported` names the unsupported construct:
/// `unsupported regular expression '(a)\1': a backreference '\1'`.
Result<std::string> compileRegex(std::string_view pattern);

/// Compiles a parsed pattern; the error does not contain the pattern. `literal`
/// is the only match if that is a single character, else 0.
Result<std::string> compileTree(const RegexNode &tree, char32_t literal = 0);

/// Returns a program that finds `text` itself.
Result<std::string> compileLiteral(std::string_view text);

/// Returns a program that finds single characters in `set`.
Result<std::string> compileSet(const CharSet &set);

} // namespace transom::tokenizer
