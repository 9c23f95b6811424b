// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions for a regular expression, and for the passes that evaluate its
// conditions. A condition on more than the next character (a look-around, or a
// choice inside an atomic group) is a query: a pass over the text evaluates it
// at each position before the expression itself is matched.
#pragma once
#include "compiler/import/tokenizer/regex/RegexTree.h"
#include <map>
#include <optional>
#include <vector>

namespace transom::tokenizer {

/// A condition at a position: the next character is in a set (or the end), or a
/// pass's answer.
struct RegexTest {
  std::optional<uint32_t> pass; ///< absent: the next character
  uint32_t number = 0;          ///< set or query index
  bool atEnd = false;           ///< for a set: also true at the end
  bool negative = false;        ///< for a query
  bool operator==(const RegexTest &other) const {
    return pass == other.pass && number == other.number &&
           atEnd == other.atEnd && negative == other.negative;
  }
};

/// An instruction; `first` is the next one.
struct RegexInstruction {
  enum class Op {
    Set,   ///< consumes one character for which `test` holds
    Check, ///< continues if `test` holds
    Fork,  ///< continues at `first` or, with lower priority, at `second`
    Jump,
    Match, ///< matches query `second`
  };
  Op op;
  RegexTest test{};
  uint32_t first = 0, second = 0;
  /// For a fork: condition for `second`.
  std::optional<RegexTest> guard{};
};

using RegexCode = std::vector<RegexInstruction>;

/// A pass: evaluates queries at each position.
struct RegexPass {
  /// A backward pass determines whether a match begins at the position, with
  /// `code` started at each of `starts`. A forward one determines whether a
  /// match for query 0, 1, ... ends there; its code is started at 0, at any
  /// earlier position.
  bool backward = false;
  RegexCode code;
  std::vector<uint32_t> starts;
  size_t queries = 1;
};

/// A compiled regular expression.
struct RegexProgram {
  RegexCode code;
  std::vector<RegexPass> passes; ///< each may use the previous ones
  std::vector<CharSet> sets;
};

/// `Unsupported` for a pattern that needs too many instructions or passes.
Result<RegexProgram> makeCode(const RegexNode &tree);

} // namespace transom::tokenizer
