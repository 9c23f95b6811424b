// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parsed regular expression.
#pragma once
#include "compiler/import/tokenizer/regex/CharSet.h"
#include "runtime/base/Error.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace transom::tokenizer {

struct RegexNode;
using RegexTree = std::unique_ptr<RegexNode>;

/// A tree node.
struct RegexNode {
  enum class Kind {
    Empty,  ///< matches the empty string
    Set,    ///< one character in `set`
    Look,   ///< the next character is in `set`, or the end `atEnd`
    Around, ///< `parts[0]` matches after this position, or, as a `lookbehind`,
            ///< before it
    Atomic, ///< only the preferred `parts[0]` match
    Sequence,     ///< all `parts`
    Alternatives, ///< the first element of `parts` that leads to a match
    Repeat,       ///< `parts[0]`, `least` to `most` times
  };
  static constexpr uint32_t unbounded = UINT32_MAX;

  Kind kind = Kind::Empty;
  CharSet set;
  bool atEnd = false;
  bool lazy = false;       ///< as few repetitions as possible
  bool lookbehind = false; ///< for Around
  bool negative = false;   ///< for Around
  uint32_t least = 0, most = 0;
  std::vector<RegexTree> parts;
};

/// Max group nesting depth in a pattern.
inline constexpr unsigned regexDepth = 32;

/// Parses `pattern`; the error names the unsupported construct, without the
/// pattern.
Result<RegexTree> parseRegex(std::string_view pattern);

/// Returns a node with this kind and parts.
RegexTree makeTree(RegexNode::Kind kind);
RegexTree makeTree(RegexNode::Kind kind, RegexTree first,
                   RegexTree second = nullptr);

/// Returns a tree that matches `text` itself.
RegexTree literalTree(std::string_view text);

/// Returns a tree that matches one character in `set`.
RegexTree setTree(CharSet set);

/// Returns a tree that matches the empty string before a character in `set`, or
/// `atEnd`.
RegexTree lookTree(CharSet set, bool atEnd);

/// Returns a tree that repeats `tree` at least `least` and at most `most`
/// times.
RegexTree repeatTree(RegexTree tree, uint32_t least, uint32_t most);

/// Returns a tree that looks around its position for `tree`.
RegexTree aroundTree(RegexTree tree, bool lookbehind, bool negative);

} // namespace transom::tokenizer
