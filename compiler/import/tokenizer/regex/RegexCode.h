// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instructions of a regular expression, and of the passes that answer its
// conditions. A condition on more than the next character (a look around, or a
// choice inside of an atomic group) is a query: a pass over the text answers it
// for each position before the expression itself is matched.
#pragma once
#include "compiler/import/tokenizer/regex/RegexTree.h"
#include <map>
#include <optional>
#include <vector>

namespace transom::tokenizer {

/// A condition on a position: that the next character is of a set (or the end),
/// or the answer of a pass.
struct RegexTest {
  std::optional<uint32_t> pass; ///< absent: the next character
  uint32_t number = 0;          ///< of the set, or of the query
  bool atEnd = false;           ///< of a set: also at the end
  bool negative = false;        ///< of a query
  bool operator==(const RegexTest &other) const {
    return pass == other.pass && number == other.number &&
           atEnd == other.atEnd && negative == other.negative;
  }
};

/// An instruction; `first` follows.
struct RegexInstruction {
  enum class Op {
    Set,   ///< takes one character for which `test` holds
    Check, ///< goes on where `test` holds
    Fork,  ///< goes on at `first` or, less preferred, at `second`
    Jump,
    Match, ///< a match of query `second`
  };
  Op op;
  RegexTest test{};
  uint32_t first = 0, second = 0;
  /// Of a fork: `second` is only followed where this holds.
  std::optional<RegexTest> guard{};
};

using RegexCode = std::vector<RegexInstruction>;

/// A pass: it answers queries for each position.
struct RegexPass {
  /// A backward pass answers whether a match begins at the position, if `code`
  /// is started at each of `starts`. A forward one answers whether a match of
  /// query 0, 1, ... ends there; its code is started at 0, anywhere before.
  bool backward = false;
  RegexCode code;
  std::vector<uint32_t> starts;
  size_t queries = 1;
};

/// A compiled regular expression.
struct RegexProgram {
  RegexCode code;
  std::vector<RegexPass> passes; ///< each may use the ones before it
  std::vector<CharSet> sets;
};

/// `Unsupported` for a pattern that takes too many instructions or passes.
Result<RegexProgram> makeCode(const RegexNode &tree);

} // namespace transom::tokenizer
