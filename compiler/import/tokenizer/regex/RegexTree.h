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

/// A node of the tree.
struct RegexNode {
  enum class Kind {
    Empty,  ///< matches the empty text
    Set,    ///< one character of `set`
    Look,   ///< the next character is of `set`, or the end `atEnd`
    Around, ///< `parts[0]` matches after this position, or, as a `lookbehind`,
            ///< before it
    Atomic, ///< only the preferred match of `parts[0]`
    Sequence,     ///< all `parts`
    Alternatives, ///< the first of `parts` that leads to a match
    Repeat,       ///< `parts[0]`, `least` to `most` times
  };
  static constexpr uint32_t unbounded = UINT32_MAX;

  Kind kind = Kind::Empty;
  CharSet set;
  bool atEnd = false;
  bool lazy = false;       ///< as few times as possible
  bool lookbehind = false; ///< of Around
  bool negative = false;   ///< of Around
  uint32_t least = 0, most = 0;
  std::vector<RegexTree> parts;
};

/// Levels of groups that a pattern may have.
inline constexpr unsigned regexDepth = 32;

/// Parses `pattern`; the error names the unsupported construct, without the
/// pattern.
Result<RegexTree> parseRegex(std::string_view pattern);

/// A node of a kind, with its parts.
RegexTree makeTree(RegexNode::Kind kind);
RegexTree makeTree(RegexNode::Kind kind, RegexTree first,
                   RegexTree second = nullptr);

/// A tree that matches `text` itself.
RegexTree literalTree(std::string_view text);

/// A tree that matches one character of `set`.
RegexTree setTree(CharSet set);

/// A tree that matches the empty text before a character of `set`, or `atEnd`.
RegexTree lookTree(CharSet set, bool atEnd);

/// A tree that matches `tree` at least `least` times and at most `most` times.
RegexTree repeatTree(RegexTree tree, uint32_t least, uint32_t most);

/// A tree that looks around its position for `tree`.
RegexTree aroundTree(RegexTree tree, bool lookbehind, bool negative);

} // namespace transom::tokenizer
