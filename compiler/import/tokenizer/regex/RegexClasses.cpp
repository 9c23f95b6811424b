// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Escapes and bracket expressions.
#include "compiler/import/tokenizer/regex/RegexParser.h"
#include "runtime/base/Utf8.h"

namespace transom::tokenizer {

using Kind = RegexNode::Kind;

static CharSet single(char32_t code) { return CharSet(code, code + 1); }

/// Returns a boundary between word and non-word characters.
static RegexTree wordBorder(bool negative) {
  const CharSet word = CharSet::word();
  auto side = [&](bool before, bool after) {
    RegexTree next =
        after ? lookTree(word, false) : lookTree(word.complement(), true);
    return makeTree(Kind::Sequence,
                    aroundTree(setTree(word), /*lookbehind=*/true, !before),
                    std::move(next));
  };
  return makeTree(Kind::Alternatives, side(true, negative),
                  side(false, !negative));
}

/// `\R`: a line ending, "\r\n" as one.
static RegexTree lineEnd() {
  CharSet ends('\n', '\r' + 1);
  ends.add(single(0x85));
  ends.add(CharSet(0x2028, 0x202A));
  return makeTree(Kind::Atomic,
                  makeTree(Kind::Alternatives, literalTree("\r\n"),
                           setTree(std::move(ends))));
}

/// Parses an escape outside brackets, after its backslash.
Result<RegexTree> RegexParser::escapedAtom() {
  const CharSet newline = single('\n');
  const char c = peek();
  switch (c) {
  case 'b':
  case 'B':
    ++at;
    return anchor(wordBorder(c == 'B'));
  case 'A':
    ++at;
    return anchor(
        aroundTree(setTree(CharSet::all()), /*lookbehind=*/true, true));
  case 'z':
    ++at;
    return anchor(lookTree(CharSet(), true));
  case 'Z':
    ++at;
    return anchor(
        aroundTree(makeTree(Kind::Sequence, repeatTree(setTree(newline), 0, 1),
                            lookTree(CharSet(), true)),
                   false, false));
  case 'R':
    ++at;
    return lineEnd();
  case 'N':
    ++at;
    return setTree(newline.complement());
  case 'O':
    ++at;
    return setTree(CharSet::all());
  default:
    break;
  }
  if (c >= '1' && c <= '9' && !(peek(1) >= '0' && peek(1) <= '7'))
    return bad(std::string("a backreference '\\") + c + "'");
  if (c == 'k')
    return bad("a backreference '\\k'");

  // Case may be ignored for a single character, but never for a property.
  const size_t begin = at;
  TRANSOM_ASSIGN(CharSet found, escape());
  const char kind = pattern[begin];
  const bool isClass =
      std::string_view("sSdDwWhHpP").find(kind) != std::string_view::npos;
  return isClass ? setTree(std::move(found)) : literal(found.ranges()[0].begin);
}

//===-- Escapes -----------------------------------------------------------===//

Result<char32_t> RegexParser::hexadecimal(size_t least, size_t most) {
  char32_t code = 0;
  size_t count = 0;
  for (; count < most; ++count, ++at) {
    char c = peek();
    char low = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9')
      code = code * 16 + static_cast<char32_t>(c - '0');
    else if (low >= 'a' && low <= 'f')
      code = code * 16 + static_cast<char32_t>(low - 'a' + 10);
    else
      break;
  }
  if (count < least)
    return bad("an escape without " + std::to_string(least) + " hex digits");
  return code;
}

Result<CharSet> RegexParser::property(bool negative) {
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

/// Returns the character for an escape with the letter `c`.
Result<char32_t> RegexParser::characterEscape(char c) {
  static constexpr std::pair<char, char> controls[] = {
      {'n', '\n'}, {'r', '\r'}, {'t', '\t'},  {'f', '\f'},
      {'v', '\v'}, {'a', '\a'}, {'e', '\x1b'}};
  for (auto &[letter, code] : controls)
    if (c == letter)
      return static_cast<char32_t>(code);
  if (c == 'x' && take("{")) {
    TRANSOM_ASSIGN(auto code, hexadecimal(1, 8));
    if (!take("}") || code >= CharSet::limit)
      return bad("a malformed '\\x{...}'");
    return code;
  }
  if (c == 'x' || c == 'u') {
    TRANSOM_ASSIGN(auto code, c == 'x' ? hexadecimal(1, 2) : hexadecimal(4, 4));
    if (c == 'x' && code >= 0x80)
      return bad("'\\x' beyond ASCII");
    return code;
  }
  if (c == 'c' && peek() > ' ' && peek() < 0x7F)
    return static_cast<char32_t>(pattern[at++] & 0x1F);

  // Octal digits.
  if (c >= '0' && c <= '7') {
    char32_t code = static_cast<char32_t>(c - '0');
    for (int i = 0; i < 2 && peek() >= '0' && peek() <= '7'; ++i)
      code = code * 8 + static_cast<char32_t>(pattern[at++] - '0');
    if (code >= 0x80)
      return bad("an octal escape beyond ASCII");
    return code;
  }

  // Any other letter or digit has an unsupported meaning; a punctuation mark is
  // literal.
  const char low = static_cast<char>(c | 0x20);
  if ((low >= 'a' && low <= 'z') || (c >= '0' && c <= '9'))
    return bad(std::string("'\\") + c + "'");
  --at;
  return utf8::decode(pattern, at);
}

/// Returns the characters for an escape, after its backslash.
Result<CharSet> RegexParser::escape() {
  if (atEnd())
    return bad("a '\\' at the end");
  // Class escapes.
  const char c = pattern[at++];
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
  case 'h':
    return *CharSet::named("[:xdigit:]");
  case 'H':
    return CharSet::named("[:xdigit:]")->complement();
  case 'p':
  case 'P':
    return property(c == 'P');
  default:
    break;
  }
  // Character escapes.
  TRANSOM_ASSIGN(auto code, characterEscape(c));
  return single(code);
}

//===-- Classes -----------------------------------------------------------===//

/// Parses a class `[:name:]` inside brackets.
Result<CharSet> RegexParser::posixClass() {
  const size_t end = pattern.find(":]", at + 2);
  std::string name(pattern.substr(at, std::min(end, pattern.size()) - at));
  const bool negative = name.size() > 2 && name[2] == '^';
  if (negative)
    name.erase(2, 1);
  std::optional<CharSet> found = CharSet::named(name + ":]");
  if (!found)
    return bad("a class '" + name + ":]'");
  at = end + 2;
  return negative ? found->complement() : *found;
}

/// Parses one character, range bound or class in brackets.
Result<CharSet> RegexParser::bracketItem(unsigned depth) {
  if (take("\\b"))
    return single('\b');
  if (take("\\"))
    return escape();
  if (peek() == '[' && peek(1) == ':' &&
      pattern.find(":]", at + 2) != std::string_view::npos)
    return posixClass();
  if (take("["))
    return bracket(depth + 1);
  return single(utf8::decode(pattern, at));
}

static std::optional<uint32_t> getSingle(const CharSet &set) {
  auto &ranges = set.ranges();
  if (ranges.size() != 1 || ranges[0].end != ranges[0].begin + 1)
    return std::nullopt;
  return ranges[0].begin;
}

/// Parses items up to a ']' or "&&".
Result<CharSet> RegexParser::bracketPart(unsigned depth) {
  std::vector<CharSet::Range> ranges;
  for (bool first = true; first || peek() != ']'; first = false) {
    if (atEnd())
      return bad("a '[' without ']'");
    if (pattern.substr(at, 2) == "&&" || (first && peek() == ']'))
      break;
    TRANSOM_ASSIGN(CharSet item, bracketItem(depth));

    // A '-' between two characters forms a range.
    if (peek() == '-' && peek(1) != ']' && at + 1 < pattern.size() &&
        pattern.substr(at + 1, 2) != "&&") {
      ++at;
      TRANSOM_ASSIGN(CharSet last, bracketItem(depth));
      std::optional<uint32_t> low = getSingle(item), high = getSingle(last);
      if (!low || !high || *low > *high)
        return bad("a malformed range in a class");
      item = CharSet(*low, *high + 1);
    }
    ranges.insert(ranges.end(), item.ranges().begin(), item.ranges().end());
  }
  return CharSet(std::move(ranges));
}

/// Parses a bracket expression, after its '['.
Result<CharSet> RegexParser::bracket(unsigned depth) {
  if (depth > regexDepth)
    return bad("more than " + std::to_string(regexDepth) + " levels of groups");
  bool negative = take("^");

  // A ']' at the start is a literal if another one follows.
  CharSet result;
  if (peek() == ']') {
    if (pattern.find(']', at + 1) == std::string_view::npos)
      return bad("an empty class");
    result = single(']');
    ++at;
  }
  TRANSOM_ASSIGN(CharSet first, bracketPart(depth));
  result.add(first);

  // Intersect all parts separated by "&&".
  while (take("&&")) {
    TRANSOM_ASSIGN(CharSet part, bracketPart(depth));
    result = result.without(part.complement());
  }
  if (!take("]"))
    return bad("a '[' without ']'");
  return negative ? result.complement() : result;
}

Result<RegexTree> RegexParser::bracketAtom(unsigned depth) {
  const bool negative = peek() == '^';
  TRANSOM_ASSIGN(CharSet found, bracket(depth));
  if (!options.ignoreCase)
    return setTree(std::move(found));
  return foldedClass(std::move(found), negative);
}

} // namespace transom::tokenizer
