// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Alternatives, groups and quantifiers. Options inside a group apply to its
// remainder, including alternatives, as in Ruby.
#include "compiler/import/tokenizer/regex/RegexParser.h"
#include "runtime/base/Utf8.h"

namespace transom::tokenizer {

using Kind = RegexNode::Kind;

Result<RegexTree> RegexParser::run() {
  auto tree = alternatives(0);
  if (tree && at < pattern.size())
    return bad("a ')' without '('");
  return tree;
}

/// Skips comments, and white space if it is ignored.
void RegexParser::skipExtended() {
  while (!atEnd()) {
    const bool isSpace = peek() == ' ' || (peek() >= '\t' && peek() <= '\r');
    const size_t close = pattern.find(')', at);
    if (options.extended && isSpace)
      ++at;
    else if (options.extended && peek() == '#')
      at = std::min(pattern.find('\n', at), pattern.size());
    else if (pattern.substr(at, 3) == "(?#" && close < pattern.size())
      at = close + 1;
    else
      return;
  }
}

Result<RegexTree> RegexParser::alternatives(unsigned depth) {
  if (depth > regexDepth)
    return bad("more than " + std::to_string(regexDepth) + " levels of groups");
  RegexTree node = makeTree(Kind::Alternatives);
  do {
    auto part = sequence(depth);
    if (!part)
      return part;
    node->parts.push_back(std::move(*part));
  } while (take("|"));
  return node->parts.size() == 1 ? std::move(node->parts[0]) : std::move(node);
}

Result<RegexTree> RegexParser::sequence(unsigned depth) {
  RegexTree node = makeTree(Kind::Sequence);

  // Adjacent case-insensitive literals, since several may match one character.
  std::vector<char32_t> folded;
  auto flush = [&] {
    if (!folded.empty())
      node->parts.push_back(foldedTree(folded));
    folded.clear();
  };

  // Parse atoms with their quantifiers, up to the end of the alternative.
  for (skipExtended(); !atEnd() && peek() != '|' && peek() != ')';
       skipExtended()) {
    const bool ignoreCase = options.ignoreCase;
    TRANSOM_ASSIGN(RegexTree part, atom(depth));
    const std::optional<char32_t> code = lastLiteral;
    skipExtended();
    if (code && ignoreCase && !isQuantifier()) {
      folded.push_back(*code);
      continue;
    }
    flush();
    if (code && ignoreCase)
      part = foldedTree({*code});
    TRANSOM_ASSIGN(RegexTree repeated, quantified(std::move(part)));
    node->parts.push_back(std::move(repeated));
  }
  flush();
  return node;
}

RegexTree RegexParser::literal(char32_t code) {
  lastLiteral = code;
  return setTree(CharSet(code, code + 1));
}

RegexTree RegexParser::anchor(RegexTree tree) {
  lastIsCondition = true;
  return tree;
}

/// Returns a line start: the text's start, or after a newline that is not at
/// the end.
static RegexTree lineBegin() {
  const CharSet newline('\n', '\n' + 1);
  RegexTree inside =
      makeTree(Kind::Alternatives,
               aroundTree(setTree(CharSet::all()), /*lookbehind=*/true, true),
               lookTree(CharSet::all(), false));
  return makeTree(Kind::Sequence,
                  aroundTree(setTree(newline.complement()), true, true),
                  std::move(inside));
}

Result<RegexTree> RegexParser::atom(unsigned depth) {
  lastLiteral.reset();
  lastIsCondition = false;
  const CharSet newline('\n', '\n' + 1);
  if (take("("))
    return group(depth + 1);
  if (take("["))
    return bracketAtom(depth);
  if (take("."))
    return setTree(options.dotMatchesNewline ? CharSet::all()
                                             : newline.complement());
  if (take("$"))
    return anchor(lookTree(newline, true));
  if (take("^"))
    return anchor(lineBegin());
  if (take("\\"))
    return escapedAtom();
  if (isQuantifier())
    return bad("a quantifier without something before it");
  return literal(utf8::decode(pattern, at));
}

//===-- Groups ------------------------------------------------------------===//

/// Parses a group's contents and its ')'.
Result<RegexTree> RegexParser::body(unsigned depth) {
  const Options outer = options;
  auto tree = alternatives(depth);
  options = outer;
  if (tree && !take(")"))
    return bad("a '(' without ')'");
  lastLiteral.reset();
  lastIsCondition = false;
  return tree;
}

Result<RegexTree> RegexParser::group(unsigned depth) {
  if (peek() != '?' || take("?:"))
    return body(depth);
  // Look-around and atomic groups.
  if (take("?="))
    return around(/*lookbehind=*/false, /*negative=*/false, depth);
  if (take("?!"))
    return around(false, true, depth);
  if (take("?<="))
    return around(true, false, depth);
  if (take("?<!"))
    return around(true, true, depth);
  if (take("?>")) {
    TRANSOM_ASSIGN(RegexTree tree, body(depth));
    return makeTree(Kind::Atomic, std::move(tree));
  }
  // Comments, names and unsupported groups.
  if (peek(1) == '#')
    return bad("a '(?#' without ')'");
  if (take("?<") || take("?'")) {
    TRANSOM_TRY(skipName(pattern[at - 1] == '<' ? '>' : '\''));
    return body(depth);
  }
  if (take("?~"))
    return bad("an absent group '(?~'");
  if (take("?("))
    return bad("a conditional group '(?('");
  ++at;
  return optionGroup(depth);
}

Result<RegexTree> RegexParser::around(bool lookbehind, bool negative,
                                      unsigned depth) {
  TRANSOM_ASSIGN(RegexTree tree, body(depth));
  return anchor(aroundTree(std::move(tree), lookbehind, negative));
}

/// A name has no effect without a reference to its group.
Result<void> RegexParser::skipName(char close) {
  const size_t end = pattern.find(close, at);
  if (end == std::string_view::npos || end == at)
    return bad("a group's name without its end");
  at = end + 1;
  return {};
}

/// Parses options after "(?": for this group, or the remainder of the enclosing
/// one.
Result<RegexTree> RegexParser::optionGroup(unsigned depth) {
  const size_t begin = at;
  Options inside = options;
  for (bool on = true; !atEnd() && peek() != ':' && peek() != ')'; ++at) {
    if (peek() == '-')
      on = false;
    else if (peek() == 'i')
      inside.ignoreCase = on;
    else if (peek() == 'm')
      inside.dotMatchesNewline = on;
    else if (peek() == 'x')
      inside.extended = on;
    else
      return bad("a group '(?" +
                 std::string(pattern.substr(begin, at - begin + 1)) +
                 "'; supported: (...), (?:...), (?imx-imx:...), (?=...), "
                 "(?!...), (?<=...), (?<!...), (?>...), (?<name>...)");
  }
  if (atEnd())
    return bad("a '(' without ')'");

  // The remainder of the enclosing group ends before its ')'.
  const bool isRest = pattern[at++] == ')';
  const Options outer = options;
  options = inside;
  auto tree = isRest ? alternatives(depth) : body(depth);
  options = outer;
  lastLiteral.reset();
  lastIsCondition = false;
  return tree;
}

//===-- Quantifiers -------------------------------------------------------===//

std::optional<uint32_t> RegexParser::number() {
  uint32_t value = 0;
  size_t begin = at;
  while (peek() >= '0' && peek() <= '9' && at - begin < 6)
    value = value * 10 + static_cast<uint32_t>(pattern[at++] - '0');
  if (at == begin)
    return std::nullopt;
  return value;
}

/// Returns true at a quantifier; other braces are literal.
bool RegexParser::isQuantifier() const {
  if (peek() == '*' || peek() == '+' || peek() == '?')
    return true;
  if (peek() != '{')
    return false;
  const size_t end = std::min(pattern.find('}', at), pattern.size());
  const std::string_view inside = pattern.substr(at + 1, end - at - 1);
  const size_t comma = std::min(inside.find(','), inside.size());
  auto isNumber = [](std::string_view text) {
    return text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return end < pattern.size() && inside.size() > (comma < inside.size()) &&
         isNumber(inside.substr(0, comma)) &&
         (comma == inside.size() || isNumber(inside.substr(comma + 1)));
}

/// Parses a repetition in braces, after its '{'.
Result<RegexTree> RegexParser::braces(RegexTree tree) {
  std::optional<uint32_t> low = number(), high = low;
  const bool exact = !take(",");
  if (!exact) {
    const bool hadLow = low.has_value();
    high = number();
    if (!high && hadLow)
      high = RegexNode::unbounded;
    low = low.value_or(0);
  }
  if (!high || !take("}") || *low > 1000 ||
      (*high > 1000 && *high != RegexNode::unbounded))
    return bad("a quantifier over 1000");

  // Ruby reads {3,1} as a possessive {1,3}, and {2}? as an optional {2}.
  if (*low > *high)
    return makeTree(Kind::Atomic, repeatTree(std::move(tree), *high, *low));
  RegexTree repeated = repeatTree(std::move(tree), *low, *high);
  if (take("?")) {
    if (exact)
      return repeatTree(std::move(repeated), 0, 1);
    repeated->lazy = true;
  }
  return repeated;
}

Result<RegexTree> RegexParser::quantified(RegexTree tree) {
  for (skipExtended(); isQuantifier(); skipExtended()) {
    if (lastIsCondition)
      return bad("a quantifier on a condition");
    if (take("{")) {
      TRANSOM_ASSIGN(tree, braces(std::move(tree)));
      continue;
    }
    const char sign = pattern[at++];
    tree = repeatTree(std::move(tree), sign == '+' ? 1 : 0,
                      sign == '?' ? 1 : RegexNode::unbounded);
    if (take("+"))
      tree = makeTree(Kind::Atomic, std::move(tree));
    else
      tree->lazy = take("?");
  }
  return tree;
}

Result<RegexTree> parseRegex(std::string_view pattern) {
  return RegexParser(pattern).run();
}

} // namespace transom::tokenizer
