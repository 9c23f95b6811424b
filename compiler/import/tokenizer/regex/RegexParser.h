// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recursive descent parser for regular expressions in Oniguruma's syntax for
// Ruby.
#pragma once
#include "compiler/import/tokenizer/regex/RegexTree.h"
#include <optional>

namespace transom::tokenizer {

class RegexParser {
public:
  explicit RegexParser(std::string_view pattern) : pattern(pattern) {}
  Result<RegexTree> run();

private:
  /// `(?imx)` options.
  struct Options {
    bool ignoreCase = false;
    bool dotMatchesNewline = false; ///< Ruby's option m
    bool extended = false;          ///< white space and comments are ignored
  };

  static Error bad(const std::string &what) { return unsupported(what); }

  bool atEnd() const { return at == pattern.size(); }
  char peek(size_t ahead = 0) const {
    return at + ahead < pattern.size() ? pattern[at + ahead] : '\0';
  }
  bool take(std::string_view text) {
    if (pattern.substr(at, text.size()) != text)
      return false;
    at += text.size();
    return true;
  }
  void skipExtended();

  // Groups and quantifiers.
  Result<RegexTree> alternatives(unsigned depth);
  Result<RegexTree> sequence(unsigned depth);
  Result<RegexTree> atom(unsigned depth);
  Result<RegexTree> group(unsigned depth);
  Result<RegexTree> body(unsigned depth);
  Result<RegexTree> around(bool lookbehind, bool negative, unsigned depth);
  Result<RegexTree> optionGroup(unsigned depth);
  Result<void> skipName(char close);
  Result<RegexTree> quantified(RegexTree tree);
  Result<RegexTree> braces(RegexTree tree);
  bool isQuantifier() const;
  std::optional<uint32_t> number();

  // Escapes and classes.
  Result<RegexTree> escapedAtom();
  RegexTree anchor(RegexTree tree);
  RegexTree literal(char32_t code);
  Result<CharSet> bracket(unsigned depth);
  Result<CharSet> bracketPart(unsigned depth);
  Result<CharSet> bracketItem(unsigned depth);
  Result<CharSet> posixClass();
  Result<RegexTree> bracketAtom(unsigned depth);
  Result<CharSet> escape();
  Result<CharSet> property(bool negative);
  Result<char32_t> characterEscape(char c);
  Result<char32_t> hexadecimal(size_t least, size_t most);

  std::string_view pattern;
  size_t at = 0;
  Options options;
  /// The last atom is a single literal character, or a condition, which takes
  /// no quantifier.
  std::optional<char32_t> lastLiteral;
  bool lastIsCondition = false;
};

/// Returns a tree that matches `codes`, ignoring case.
RegexTree foldedTree(const std::vector<char32_t> &codes);

/// Returns a tree that matches a character in `set`, ignoring case; also
/// strings that match a single character, unless `negative`.
RegexTree foldedClass(CharSet set, bool negative);

} // namespace transom::tokenizer
