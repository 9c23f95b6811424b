// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates patterns from Python syntax to POSIX syntax. Lazy quantifiers
// match the same names as greedy ones.
#include "compiler/import/huggingface/checkpoints/PeftPatterns.h"
#include "runtime/base/Utf8.h"
#include "llvm/ADT/StringExtras.h"
#include <bitset>

namespace transom {
namespace {

/// ASCII characters; others are copied unchanged.
using Characters = std::bitset<128>;

Characters makeSet(bool (*has)(char)) {
  Characters set;
  for (int c = 0; c < 128; ++c)
    set[c] = has(static_cast<char>(c));
  return set;
}

/// Returns the characters for `\d` and other class escapes, nullopt for other
/// letters.
std::optional<Characters> getClass(char letter) {
  switch (letter) {
  case 'd':
    return makeSet([](char c) { return llvm::isDigit(c); });
  case 'D':
    return ~*getClass('d');
  case 'w':
    return makeSet([](char c) { return llvm::isAlnum(c) || c == '_'; });
  case 'W':
    return ~*getClass('w');
  case 's':
    return makeSet([](char c) { return llvm::isSpace(c); });
  case 'S':
    return ~*getClass('s');
  default:
    return std::nullopt;
  }
}

/// Writes a set as a bracket expression, in which a backslash is literal.
std::string writeSet(const Characters &set) {
  std::string text;
  for (int c = 1; c < 128; ++c)
    if (set[c] && c != ']' && c != '^' && c != '-' && c != '[')
      text += static_cast<char>(c);
  // An opening bracket followed by one of `.=:` has a special meaning.
  if (set['['])
    text += '[';
  if (set['^'])
    text += '^';
  if (set['-'])
    text += '-';
  if (set[']'])
    text.insert(0, "]");
  // A caret at the beginning would negate the set.
  if (text == "^")
    return "\\^";
  if (text.front() == '^')
    std::swap(text[0], text[1]);
  return "[" + text + "]";
}

class Translator {
public:
  explicit Translator(std::string_view text) : text(text) {}

  Result<std::string> run() {
    while (at < text.size())
      TRANSOM_TRY(next());
    return out;
  }

private:
  Error refuse(const std::string &what) const {
    return unsupported("pattern '" + utf8::printable(text) + "' has " + what +
                       ", which is not supported");
  }
  bool follows(std::string_view part) const {
    return text.substr(at, part.size()) == part;
  }

  Result<void> next() {
    const char c = text[at++];
    switch (c) {
    case '\\':
      return escape();
    case '[':
      return bracket();
    case '(':
      return group();
    case '{':
      return braces();
    case '*':
    case '+':
    case '?':
      out += c;
      return quantified();
    default:
      out += c;
      return {};
    }
  }

  /// Parses an atom that may have a quantifier.
  Result<void> quantified() {
    if (follows("+"))
      return refuse("a possessive quantifier");
    if (follows("?"))
      ++at;
    return {};
  }

  Result<void> escape() {
    if (at == text.size())
      return rejected("pattern '" + utf8::printable(text) +
                      "' ends in a backslash");
    const char c = text[at++];
    if (std::optional<Characters> set = getClass(c))
      out += writeSet(*set);
    else if (c == 'A' || c == 'Z')
      out += c == 'A' ? '^' : '$';
    else if (llvm::isAlnum(c))
      return refuse("'\\" + std::string(1, c) + "'");
    else
      out += llvm::StringRef(".[]{}()*+?^$|\\").contains(c)
                 ? "\\" + std::string(1, c)
                 : std::string(1, c);
    return {};
  }

  Result<void> group() {
    out += '(';
    if (!follows("?"))
      return {};
    if (follows("?:")) {
      at += 2;
      return {};
    }
    const size_t end = text.find('>', at);
    if (!follows("?P<") || end == text.npos)
      return refuse("look-around, a flag or a back reference");
    at = end + 1;
    return {};
  }

  /// Parses a count, or a literal brace.
  Result<void> braces() {
    const size_t end = text.find('}', at);
    const std::string_view inner =
        end == text.npos ? std::string_view() : text.substr(at, end - at);
    const bool isCount = !inner.empty() && inner != "," &&
                         inner.find_first_not_of("0123456789,") == inner.npos &&
                         std::count(inner.begin(), inner.end(), ',') <= 1;
    if (!isCount) {
      out += "\\{";
      return {};
    }
    out += "{" + std::string(inner.front() == ',' ? "0" : "") +
           std::string(inner) + "}";
    at = end + 1;
    return quantified();
  }

  /// Parses a character in a bracket expression, or an escape's class.
  Result<Characters> bracketItem() {
    Characters set;
    char c = text[at++];
    if (c == '\\' && at < text.size()) {
      c = text[at++];
      if (std::optional<Characters> escaped = getClass(c))
        return *escaped;
      if (llvm::isAlnum(c))
        return refuse("'\\" + std::string(1, c) + "'");
    }
    if (static_cast<unsigned char>(c) >= 128)
      return refuse("a set with characters beyond ASCII");
    set.set(static_cast<size_t>(c));
    return set;
  }

  Result<void> bracket() {
    Characters set;
    const bool negated = follows("^");
    at += negated;
    for (bool first = true; at < text.size(); first = false) {
      if (!first && follows("]")) {
        ++at;
        out += writeSet(negated ? ~set : set);
        return {};
      }
      TRANSOM_ASSIGN(Characters item, bracketItem());
      if (item.count() == 1 && follows("-") && at + 1 < text.size() &&
          text[at + 1] != ']') {
        ++at;
        TRANSOM_ASSIGN(Characters last, bracketItem());
        const size_t low = item._Find_first(), high = last._Find_first();
        for (size_t c = low; c <= high && c < 128; ++c)
          item.set(c);
      }
      set |= item;
    }
    return rejected("pattern '" + utf8::printable(text) +
                    "' has a set without an end");
  }

  std::string_view text;
  size_t at = 0;
  std::string out;
};

} // namespace

Result<ModulePattern> ModulePattern::parse(std::string_view text) {
  TRANSOM_ASSIGN(std::string translated, Translator(text).run());
  llvm::Regex regex("^(.*[.])?(" + translated + ")$");
  std::string problem;
  if (!regex.isValid(problem))
    return rejected("'" + utf8::printable(text) +
                    "' is no regular expression: " + problem);
  return ModulePattern(std::move(regex));
}

bool ModulePattern::matches(const std::string &module) const {
  return regex.match(module);
}

} // namespace transom
