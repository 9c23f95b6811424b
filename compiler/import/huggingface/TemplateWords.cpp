// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// White space is stripped as in Jinja: by tag markers, up to the end of the
// line after a statement, and from the start of the line before it.
#include "compiler/import/huggingface/TemplateWords.h"
#include <algorithm>

using namespace transom;
using namespace transom::jinja;

Error jinja::inTemplate(Status status, size_t line,
                        const std::string &message) {
  return Error{status, "line " + std::to_string(line) + ": " + message, {}};
}

namespace {

constexpr const char *templateSpace = " \t\n\r\v\f";

/// Splits a template into strings and tags.
class TemplateSplitter {
public:
  explicit TemplateSplitter(std::string text) : text(std::move(text)) {}
  Result<std::vector<TemplatePart>> split();

private:
  void addText(std::string part, char next, char mark);

  std::string text;
  std::vector<TemplatePart> parts;
  bool stripsNext = false, startsLine = true;
  size_t line = 1;
};

} // namespace

/// Adds the string before a tag of a kind, after stripping white space.
void TemplateSplitter::addText(std::string part, char next, char mark) {
  const size_t from = line;
  line += size_t(std::count(part.begin(), part.end(), '\n'));
  if (mark == '-') {
    part.erase(part.find_last_not_of(templateSpace) + 1);
  } else if ((next == '%' || next == '#') && mark != '+') {
    const size_t begin = part.rfind('\n') + 1; // 0 without one
    if ((begin || startsLine) &&
        part.find_first_not_of(" \t\r\v\f", begin) == std::string::npos)
      part.erase(begin);
  }
  if (stripsNext)
    part.erase(0, std::min(part.find_first_not_of(templateSpace), part.size()));
  if (!part.empty())
    parts.push_back({' ', std::move(part), from});
}

Result<std::vector<TemplatePart>> TemplateSplitter::split() {
  // The last newline of a template is removed.
  for (size_t at; (at = text.find("\r\n")) != std::string::npos;)
    text.erase(at, 1);
  if (!text.empty() && text.back() == '\n')
    text.pop_back();

  size_t at = 0;
  for (;;) {
    size_t open = at;
    while ((open = text.find('{', open)) != std::string::npos &&
           (open + 1 == text.size() ||
            std::string_view("{%#").find(text[open + 1]) ==
                std::string_view::npos))
      ++open;
    if (open == std::string::npos) {
      addText(text.substr(at), ' ', ' ');
      return std::move(parts);
    }
    const char kind = text[open + 1];
    size_t begin = open + 2;
    const char mark = begin < text.size() ? text[begin] : ' ';
    const bool isMarked = mark == '-' || (mark == '+' && kind != '{');
    addText(text.substr(at, open - at), kind, isMarked ? mark : ' ');

    // Find the tag's end, outside its string literals.
    const std::string closing = {kind == '{' ? '}' : kind, '}'};
    size_t close = begin + isMarked;
    char quote = 0;
    for (; close < text.size(); ++close) {
      if (quote && text[close] == '\\' && kind != '#')
        ++close;
      else if (quote)
        quote = text[close] == quote ? 0 : quote;
      else if (text.compare(close, 2, closing) == 0)
        break;
      else if (kind != '#' && (text[close] == '\'' || text[close] == '"'))
        quote = text[close];
    }
    if (close >= text.size())
      return inTemplate(Status::Rejected, line,
                        std::string("'{") + kind + "' is not closed");
    std::string inside =
        text.substr(begin + isMarked, close - begin - isMarked);
    const size_t from = line;
    line += size_t(std::count(inside.begin(), inside.end(), '\n'));
    stripsNext = !inside.empty() && inside.back() == '-';
    const bool keepsLine = !inside.empty() && inside.back() == '+';
    if (stripsNext || keepsLine)
      inside.pop_back();
    if (kind != '#')
      parts.push_back({kind, std::move(inside), from});
    at = close + 2;
    startsLine = false;
    if (kind != '{' && !stripsNext && !keepsLine && at < text.size() &&
        text[at] == '\n') {
      ++at;
      ++line;
      startsLine = true;
    }
  }
}

Result<std::vector<TemplatePart>>
jinja::splitTemplate(const std::string &text) {
  return TemplateSplitter(text).split();
}

static Result<TemplateWord> readText(const std::string &text, size_t &at,
                                     size_t line) {
  const char quote = text[at++];
  TemplateWord found = {TemplateWord::Kind::Text, ""};
  for (; at < text.size() && text[at] != quote; ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      found.text += text[at];
      continue;
    }
    const char code = text[++at];
    const std::string_view codes = "nrt\\'\"", meanings = "\n\r\t\\'\"";
    const size_t known = codes.find(code);
    if (known == std::string_view::npos)
      return inTemplate(Status::Unsupported, line,
                        std::string("'\\") + code + "' in a text");
    found.text += meanings[known];
  }
  if (at == text.size())
    return inTemplate(Status::Rejected, line, "a text is not closed");
  ++at;
  return found;
}

Result<std::vector<TemplateWord>> jinja::splitWords(const TemplatePart &part) {
  std::vector<TemplateWord> words;
  const std::string &text = part.text;
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  for (size_t i = 0; i < text.size();) {
    // Skip white space.
    if (std::string_view(templateSpace).find(text[i]) !=
        std::string_view::npos) {
      ++i;
      continue;
    }
    // Read a string literal.
    size_t end = i;
    if (text[i] == '\'' || text[i] == '"') {
      TRANSOM_ASSIGN(TemplateWord found, readText(text, i, part.line));
      words.push_back(std::move(found));
      continue;
    }
    // Read a number, a name or an operator.
    TemplateWord::Kind kind = TemplateWord::Kind::Sign;
    if (isLetter(text[i]) || isDigit(text[i])) {
      kind = isDigit(text[i]) ? TemplateWord::Kind::Integer
                              : TemplateWord::Kind::Name;
      while (end < text.size() && (isLetter(text[end]) || isDigit(text[end])))
        ++end;
    } else {
      const std::string two = text.substr(i, 2);
      end += two == "==" || two == "!=" || two == "<=" || two == ">=" ? 2 : 1;
    }
    words.push_back({kind, text.substr(i, end - i)});
    i = end;
  }
  words.emplace_back();
  return words;
}
