// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recursive descent over the pattern. A possessive quantifier on a single
// character takes all that it can, so it is the greedy one followed by a look
// that the next character is another one.
#include "compiler/import/tokenizer/RegexTree.h"
#include "runtime/base/Utf8.h"
#include <optional>

namespace transom::tokenizer {

using Kind = RegexNode::Kind;

static RegexTree makeNode(Kind kind) {
  auto node = std::make_unique<RegexNode>();
  node->kind = kind;
  return node;
}

RegexTree setTree(CharSet set) {
  RegexTree node = makeNode(Kind::Set);
  node->set = std::move(set);
  return node;
}

static RegexTree lookTree(CharSet set, bool atEnd) {
  RegexTree node = makeNode(Kind::Look);
  node->set = std::move(set);
  node->atEnd = atEnd;
  return node;
}

RegexTree literalTree(std::string_view text) {
  RegexTree node = makeNode(Kind::Sequence);
  for (size_t at = 0; at < text.size();) {
    char32_t code = utf8::decode(text, at);
    node->parts.push_back(setTree(CharSet(code, code + 1)));
  }
  return node;
}

namespace {
class Parser {
public:
  explicit Parser(std::string_view pattern) : pattern(pattern) {}

  Result<RegexTree> run() {
    auto tree = alternatives(0);
    if (tree && at < pattern.size())
      return bad("a ')' without '('");
    return tree;
  }

private:
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

  Result<RegexTree> alternatives(unsigned depth);
  Result<RegexTree> sequence(unsigned depth);
  Result<RegexTree> atom(unsigned depth);
  Result<RegexTree> group(unsigned depth);
  Result<RegexTree> look(bool negative, unsigned depth);
  Result<RegexTree> quantified(RegexTree tree);
  Result<RegexTree> braces(RegexTree tree);
  Result<RegexTree> character(char32_t code);
  Result<RegexTree> set(CharSet found);
  Result<CharSet> bracket(unsigned depth);
  Result<CharSet> bracketItem(unsigned depth);
  Result<CharSet> escape();
  Result<CharSet> property(bool negative);
  Result<char32_t> hexadecimal(size_t digits);
  std::optional<uint32_t> number();

  std::string_view pattern;
  size_t at = 0;
  bool foldCase = false;
  /// The letter before, where case is ignored: some pairs of letters match one
  /// character.
  char previousLetter = '\0';
};
} // namespace

Result<RegexTree> Parser::alternatives(unsigned depth) {
  if (depth > regexDepth)
    return bad("more than " + std::to_string(regexDepth) + " levels of groups");
  RegexTree node = makeNode(Kind::Alternatives);
  do {
    auto part = sequence(depth);
    if (!part)
      return part;
    node->parts.push_back(std::move(*part));
  } while (take("|"));
  return node->parts.size() == 1 ? std::move(node->parts[0]) : std::move(node);
}

Result<RegexTree> Parser::sequence(unsigned depth) {
  RegexTree node = makeNode(Kind::Sequence);
  previousLetter = '\0';
  while (!atEnd() && peek() != '|' && peek() != ')') {
    auto part = atom(depth);
    if (!part)
      return part;
    auto repeated = quantified(std::move(*part));
    if (!repeated)
      return repeated;
    node->parts.push_back(std::move(*repeated));
  }
  return node;
}

Result<RegexTree> Parser::set(CharSet found) {
  if (foldCase && !found.ignoreCase())
    return bad("letters beyond ASCII where case is ignored");
  return setTree(std::move(found));
}

/// Oniguruma lets these pairs match a ligature or sharp s, too.
static bool foldsTogether(char first, char second) {
  for (std::string_view pair : {"ss", "ff", "fi", "fl", "st"})
    if (pair[0] == first && pair[1] == second)
      return true;
  return false;
}

Result<RegexTree> Parser::character(char32_t code) {
  if (foldCase) {
    char letter = code < 0x80 ? static_cast<char>(code | 0x20) : '\0';
    if (foldsTogether(previousLetter, letter))
      return bad(std::string("'") + previousLetter + letter +
                 "' where case is ignored");
    previousLetter = letter;
  }
  return set(CharSet(code, code + 1));
}

Result<RegexTree> Parser::atom(unsigned depth) {
  if (take("("))
    return group(depth + 1);
  if (take("[")) {
    TRANSOM_ASSIGN(auto found, bracket(depth));
    return setTree(std::move(found));
  }
  if (take("."))
    return setTree(CharSet('\n', '\n' + 1).complement());
  if (take("$"))
    return lookTree(CharSet('\n', '\n' + 1), true);
  if (take("\\")) {
    if (take("z"))
      return lookTree(CharSet(), true);
    TRANSOM_ASSIGN(auto found, escape());
    return set(std::move(found));
  }
  if (peek() == '^')
    return bad("'^'");
  if (peek() == '*' || peek() == '+' || peek() == '?')
    return bad("a quantifier without something before it");
  return character(utf8::decode(pattern, at));
}

Result<RegexTree> Parser::group(unsigned depth) {
  bool outerFold = foldCase;
  if (take("?=") || take("?!"))
    return look(pattern[at - 1] == '!', depth);
  if (take("?i:"))
    foldCase = true;
  else if (take("?-i:"))
    foldCase = false;
  else if (peek() == '?' && !take("?:"))
    return bad("a group '(" + std::string(pattern.substr(at, 3)) +
               "'; supported: (...), (?:...), (?i:...), (?=x), (?!x)");
  auto tree = alternatives(depth);
  foldCase = outerFold;
  previousLetter = '\0';
  if (tree && !take(")"))
    return bad("a '(' without ')'");
  return tree;
}

/// A look at one character ahead.
Result<RegexTree> Parser::look(bool negative, unsigned depth) {
  auto inner = alternatives(depth);
  if (!inner)
    return inner;
  if (!take(")"))
    return bad("a '(' without ')'");
  RegexNode *node = inner->get();
  if (node->kind == Kind::Sequence && node->parts.size() == 1)
    node = node->parts[0].get();
  if (node->kind != Kind::Set)
    return bad("a look ahead at more than one character");
  return lookTree(negative ? node->set.complement() : node->set, negative);
}

std::optional<uint32_t> Parser::number() {
  uint32_t value = 0;
  size_t begin = at;
  while (peek() >= '0' && peek() <= '9' && at - begin < 6)
    value = value * 10 + static_cast<uint32_t>(pattern[at++] - '0');
  if (at == begin)
    return std::nullopt;
  return value;
}

static RegexTree repeat(RegexTree tree, uint32_t least, uint32_t most) {
  RegexTree node = makeNode(Kind::Repeat);
  node->least = least;
  node->most = most;
  node->parts.push_back(std::move(tree));
  return node;
}

/// Takes as many of a set as there are and never gives one back.
static RegexTree possessive(RegexTree tree, uint32_t least, uint32_t most) {
  RegexTree end = lookTree(tree->set.complement(), true);
  RegexTree node = makeNode(Kind::Sequence);
  if (most != RegexNode::unbounded) { // one, or none where none is there
    node->kind = Kind::Alternatives;
    node->parts.push_back(std::move(tree));
    node->parts.push_back(std::move(end));
    return node;
  }
  node->parts.push_back(repeat(std::move(tree), least, most));
  node->parts.push_back(std::move(end));
  return node;
}

Result<RegexTree> Parser::braces(RegexTree tree) {
  size_t begin = at - 1;
  std::optional<uint32_t> low = number(), high = low;
  if (take(",")) {
    bool hadLow = low.has_value();
    high = number();
    if (!high && hadLow)
      high = RegexNode::unbounded;
    low = low.value_or(0);
  }
  if (!high || !take("}"))
    return bad("'" + std::string(pattern.substr(begin, at - begin + 1)) +
               "' as a quantifier");
  if (*low > *high || *low > 1000 ||
      (*high > 1000 && *high != RegexNode::unbounded))
    return bad("a quantifier over 1000 or downwards");
  if (peek() == '?')
    return bad("a lazy '{...}?'");
  return repeat(std::move(tree), *low, *high);
}

Result<RegexTree> Parser::quantified(RegexTree tree) {
  while (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{') {
    previousLetter = '\0';
    if (tree->kind == Kind::Look)
      return bad("a quantifier on a look ahead");
    if (take("{")) {
      auto repeated = braces(std::move(tree));
      if (!repeated)
        return repeated;
      tree = std::move(*repeated);
      continue;
    }
    char sign = pattern[at++];
    uint32_t least = sign == '+' ? 1 : 0;
    uint32_t most = sign == '?' ? 1 : RegexNode::unbounded;
    if (take("+")) {
      if (tree->kind != Kind::Set)
        return bad("a possessive quantifier on more than one character");
      tree = possessive(std::move(tree), least, most);
      continue;
    }
    tree = repeat(std::move(tree), least, most);
    tree->lazy = take("?");
  }
  return tree;
}

//===-- Classes -----------------------------------------------------------===//

Result<char32_t> Parser::hexadecimal(size_t digits) {
  char32_t code = 0;
  for (size_t i = 0; i < digits; ++i, ++at) {
    char c = peek();
    char low = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9')
      code = code * 16 + static_cast<char32_t>(c - '0');
    else if (low >= 'a' && low <= 'f')
      code = code * 16 + static_cast<char32_t>(low - 'a' + 10);
    else
      return bad("an escape without " + std::to_string(digits) + " hex digits");
  }
  return code;
}

Result<CharSet> Parser::property(bool negative) {
  if (!take("{"))
    return bad("'\\p' without '{'");
  if (take("^"))
    negative = !negative;
  size_t end = pattern.find('}', at);
  std::string_view name =
      pattern.substr(at, end == std::string_view::npos ? 0 : end - at);
  std::optional<CharSet> found = CharSet::named(name);
  if (!found)
    return bad("the property '" + std::string(name) + "'");
  at = end + 1;
  return negative ? found->complement() : *found;
}

/// What follows a backslash.
Result<CharSet> Parser::escape() {
  if (atEnd())
    return bad("a '\\' at the end");
  auto one = [](char32_t code) { return CharSet(code, code + 1); };
  char c = pattern[at++];
  switch (c) {
  case 's':
    return CharSet::whitespace();
  case 'S':
    return CharSet::whitespace().complement();
  case 'd':
    return *CharSet::named("Nd");
  case 'D':
    return CharSet::named("Nd")->complement();
  case 'w':
    return CharSet::word();
  case 'W':
    return CharSet::word().complement();
  case 'p':
  case 'P':
    return property(c == 'P');
  case 'n':
    return one('\n');
  case 'r':
    return one('\r');
  case 't':
    return one('\t');
  case 'f':
    return one('\f');
  case 'v':
    return one('\v');
  case 'x':
  case 'u': {
    TRANSOM_ASSIGN(auto code, hexadecimal(c == 'x' ? 2 : 4));
    if (c == 'x' && code >= 0x80)
      return bad("'\\x' beyond ASCII");
    return one(code);
  }
  default:
    break;
  }

  // Any other letter or digit has a meaning that is not supported; a mark means
  // itself.
  bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9');
  if (isLetter)
    return bad(std::string("'\\") + c + "'");
  --at;
  return one(utf8::decode(pattern, at));
}

/// One character, range bound or class in brackets.
Result<CharSet> Parser::bracketItem(unsigned depth) {
  if (take("\\"))
    return escape();
  if (peek() == '[' && peek(1) == ':')
    return bad("a class '[:...:]'");
  if (take("["))
    return bracket(depth + 1);
  if (peek() == '&' && peek(1) == '&')
    return bad("'&&' in a class");
  char32_t code = utf8::decode(pattern, at);
  return CharSet(code, code + 1);
}

static std::optional<uint32_t> getSingle(const CharSet &set) {
  auto &ranges = set.ranges();
  if (ranges.size() != 1 || ranges[0].end != ranges[0].begin + 1)
    return std::nullopt;
  return ranges[0].begin;
}

/// A class, after its '['.
Result<CharSet> Parser::bracket(unsigned depth) {
  if (depth > regexDepth)
    return bad("more than " + std::to_string(regexDepth) + " levels of groups");
  bool negative = take("^");
  CharSet result;
  if (peek() == ']')
    return bad("a ']' at the start of a class");
  while (!take("]")) {
    if (atEnd())
      return bad("a '[' without ']'");
    auto item = bracketItem(depth);
    if (!item)
      return item;

    // A '-' between two characters makes a range.
    if (peek() == '-' && peek(1) != ']' && at + 1 < pattern.size()) {
      ++at;
      auto last = bracketItem(depth);
      if (!last)
        return last;
      std::optional<uint32_t> low = getSingle(*item), high = getSingle(*last);
      if (!low || !high || *low > *high)
        return bad("a malformed range in a class");
      item = CharSet(*low, *high + 1);
    }
    result.add(*item);
  }
  if (foldCase && !result.ignoreCase())
    return bad("letters beyond ASCII where case is ignored");
  return negative ? result.complement() : result;
}

Result<RegexTree> parseRegex(std::string_view pattern) {
  return Parser(pattern).run();
}

} // namespace transom::tokenizer
