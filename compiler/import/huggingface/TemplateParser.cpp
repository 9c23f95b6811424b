// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses each tag's tokens by recursive descent.
#include "compiler/import/huggingface/TemplateSyntax.h"
#include "compiler/import/huggingface/TemplateWords.h"
#include "runtime/base/Utf8.h"
#include <algorithm>

using namespace transom;
using namespace transom::jinja;

namespace {

/// Parses a template's parts.
class TemplateParser {
public:
  explicit TemplateParser(std::vector<TemplatePart> parts)
      : parts(std::move(parts)) {}
  Result<std::vector<Statement>> parse();

private:
  using Kind = Expression::Kind;

  Result<void> open(const TemplatePart &part);
  /// Parses statements up to a tag with one of these names, and reads the tag's
  /// tokens.
  Result<std::vector<Statement>> body(const std::vector<std::string> &ends);
  Result<Statement> statement();
  Result<Statement> conditional();
  Result<Statement> loop();
  Result<Statement> assignment();

  Result<Expression> expression();
  Result<Expression> binary(size_t level);
  Result<Expression> negation();
  Result<Expression> unary();
  Result<Expression> postfix(Expression value);
  Result<Expression> primary();
  Result<Expression> subscript(Expression value);
  Result<Expression> test(Expression value);
  Result<void> callArguments(Expression &call);

  const TemplateWord &word(size_t after = 0) const {
    return words[std::min(at + after, words.size() - 1)];
  }
  bool isSign(const char *sign) const {
    return word().kind == TemplateWord::Kind::Sign && word().text == sign;
  }
  bool isName(const char *name) const {
    return word().kind == TemplateWord::Kind::Name && word().text == name;
  }
  bool take(const char *text) {
    const bool found = isSign(text) || isName(text);
    at += found;
    return found;
  }
  Result<void> expect(const char *text) {
    if (take(text))
      return {};
    return fail(std::string("expected '") + text + "', got '" +
                utf8::printable(word().text) + "'");
  }
  Result<std::string> name() {
    if (word().kind != TemplateWord::Kind::Name)
      return fail("expected a name, got '" + utf8::printable(word().text) +
                  "'");
    return words[at++].text;
  }
  Result<void> expectEnd() {
    if (word().kind == TemplateWord::Kind::End)
      return {};
    return fail("'" + utf8::printable(word().text) + "' is not expected");
  }
  Error fail(const std::string &message) const {
    return inTemplate(Status::Rejected, line, message);
  }

  std::vector<TemplatePart> parts;
  size_t next = 0; ///< part index
  std::vector<TemplateWord> words;
  size_t at = 0, line = 1, depth = 0;
};

/// Max nesting depth for expressions and statements.
constexpr size_t maxTemplateDepth = 100;

} // namespace

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// Reads a tag's tokens.
Result<void> TemplateParser::open(const TemplatePart &part) {
  TRANSOM_ASSIGN(words, splitWords(part));
  at = 0;
  line = part.line;
  return {};
}

Result<std::vector<Statement>> TemplateParser::parse() { return body({}); }

Result<std::vector<Statement>>
TemplateParser::body(const std::vector<std::string> &ends) {
  if (++depth > maxTemplateDepth)
    return fail("statements are nested too deeply");
  std::vector<Statement> found;
  while (next != parts.size()) {
    const TemplatePart &part = parts[next++];
    // A string between tags.
    if (part.kind == ' ') {
      Statement text;
      text.name = part.text;
      found.push_back(std::move(text));
      continue;
    }
    TRANSOM_TRY(open(part));
    // An output.
    if (part.kind == '{') {
      Statement output;
      output.kind = Statement::Kind::Output;
      TRANSOM_ASSIGN(output.value, expression());
      TRANSOM_TRY(expectEnd());
      found.push_back(std::move(output));
      continue;
    }
    // The tag that ends this body, or another statement.
    if (word().kind == TemplateWord::Kind::Name &&
        std::find(ends.begin(), ends.end(), word().text) != ends.end()) {
      --depth;
      return found;
    }
    TRANSOM_ASSIGN(Statement parsed, statement());
    found.push_back(std::move(parsed));
  }
  if (!ends.empty())
    return fail("'" + ends.back() + "' is missing");
  return found;
}

Result<Statement> TemplateParser::statement() {
  TRANSOM_ASSIGN(const std::string tag, name());
  if (tag == "if")
    return conditional();
  if (tag == "for")
    return loop();
  if (tag == "set")
    return assignment();
  return inTemplate(Status::Unsupported, line,
                    "'" + utf8::printable(tag) +
                        "' is not supported; supported: for, if, set");
}

/// After `if` or `elif`.
Result<Statement> TemplateParser::conditional() {
  Statement found;
  found.kind = Statement::Kind::If;
  TRANSOM_ASSIGN(found.value, expression());
  TRANSOM_TRY(expectEnd());
  TRANSOM_ASSIGN(found.body, body({"elif", "else", "endif"}));
  if (take("elif")) {
    TRANSOM_ASSIGN(Statement other, conditional());
    found.otherwise.push_back(std::move(other));
    return found;
  }
  if (take("else")) {
    TRANSOM_ASSIGN(found.otherwise, body({"endif"}));
  }
  TRANSOM_TRY(expect("endif"));
  TRANSOM_TRY(expectEnd());
  return found;
}

Result<Statement> TemplateParser::loop() {
  Statement found;
  found.kind = Statement::Kind::For;
  TRANSOM_ASSIGN(found.name, name());
  TRANSOM_TRY(expect("in"));
  TRANSOM_ASSIGN(found.value, binary(0));
  if (word().kind != TemplateWord::Kind::End)
    return inTemplate(Status::Unsupported, line,
                      "'" + utf8::printable(word().text) +
                          "' in the head of a loop");
  TRANSOM_ASSIGN(found.body, body({"else", "endfor"}));
  if (take("else")) {
    TRANSOM_ASSIGN(found.otherwise, body({"endfor"}));
  }
  TRANSOM_TRY(expect("endfor"));
  TRANSOM_TRY(expectEnd());
  return found;
}

Result<Statement> TemplateParser::assignment() {
  Statement found;
  found.kind = Statement::Kind::Set;
  TRANSOM_ASSIGN(found.name, name());
  if (take(".")) {
    TRANSOM_ASSIGN(found.member, name());
  }
  if (!isSign("="))
    return inTemplate(Status::Unsupported, line,
                      "'set' of a block or of several names");
  ++at;
  TRANSOM_ASSIGN(found.value, expression());
  TRANSOM_TRY(expectEnd());
  return found;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

static Expression makeExpression(Expression::Kind kind, std::string name,
                                 std::vector<Expression> arguments) {
  Expression made;
  made.kind = kind;
  made.name = std::move(name);
  made.arguments = std::move(arguments);
  return made;
}

Result<Expression> TemplateParser::expression() {
  if (++depth > maxTemplateDepth)
    return fail("expressions are nested too deeply");
  TRANSOM_ASSIGN(Expression value, binary(0));
  if (take("if")) {
    TRANSOM_ASSIGN(Expression condition, binary(0));
    Expression other;
    other.name = "none";
    if (take("else")) {
      TRANSOM_ASSIGN(other, expression());
    }
    value = makeExpression(
        Kind::Choose, "",
        {std::move(value), std::move(condition), std::move(other)});
  }
  --depth;
  return value;
}

/// Operators by precedence level, the loosest first; `not` is between the
/// second and the third.
static const std::vector<std::vector<std::string>> &getOperators() {
  static const std::vector<std::vector<std::string>> levels = {
      {"or"},     {"and"}, {"==", "!=", "<", "<=", ">", ">=", "in"},
      {"+", "-"}, {"~"},   {"*", "/", "%"}};
  return levels;
}

Result<Expression> TemplateParser::binary(size_t level) {
  if (level == getOperators().size())
    return unary();
  if (level == 2 && isName("not"))
    return negation();
  TRANSOM_ASSIGN(Expression left, binary(level + 1));
  for (;;) {
    bool isNot = false;
    if (level == 2 && isName("not") && word(1).text == "in") {
      ++at;
      isNot = true;
    }
    const std::vector<std::string> &known = getOperators()[level];
    if ((word().kind != TemplateWord::Kind::Sign &&
         word().kind != TemplateWord::Kind::Name) ||
        std::find(known.begin(), known.end(), word().text) == known.end())
      return left;
    std::string sign = words[at++].text;
    TRANSOM_ASSIGN(Expression right, binary(level + 1));
    left = makeExpression(Kind::Binary, std::move(sign),
                          {std::move(left), std::move(right)});
    if (isNot)
      left = makeExpression(Kind::Not, "", {std::move(left)});
  }
}

Result<Expression> TemplateParser::negation() {
  TRANSOM_TRY(expect("not"));
  if (++depth > maxTemplateDepth)
    return fail("expressions are nested too deeply");
  TRANSOM_ASSIGN(Expression value, binary(2));
  --depth;
  return makeExpression(Kind::Not, "", {std::move(value)});
}

Result<Expression> TemplateParser::unary() {
  if (take("-")) {
    TRANSOM_ASSIGN(Expression value, primary());
    TRANSOM_ASSIGN(value, postfix(std::move(value)));
    return makeExpression(Kind::Negate, "", {std::move(value)});
  }
  TRANSOM_ASSIGN(Expression value, primary());
  return postfix(std::move(value));
}

Result<Expression> TemplateParser::primary() {
  const TemplateWord found = word();
  ++at;
  Expression value;
  switch (found.kind) {
  case TemplateWord::Kind::Text:
    value = makeExpression(Kind::Text, found.text, {});
    while (word().kind == TemplateWord::Kind::Text) // adjacent string literals
      value.name += words[at++].text;
    return value;
  case TemplateWord::Kind::Integer:
    value.kind = Kind::Integer;
    if (found.text.size() > 9 ||
        found.text.find_first_not_of("0123456789") != std::string::npos)
      return fail("'" + found.text + "' is not a number");
    value.number = std::stoll(found.text);
    return value;
  case TemplateWord::Kind::Name: {
    std::string lower = found.text;
    if (lower == "True" || lower == "False" || lower == "None")
      lower[0] = char(lower[0] - 'A' + 'a');
    const bool isConstant =
        lower == "true" || lower == "false" || lower == "none";
    return makeExpression(isConstant ? Kind::Constant : Kind::Variable, lower,
                          {});
  }
  case TemplateWord::Kind::Sign:
    if (found.text == "(") {
      TRANSOM_ASSIGN(value, expression());
      TRANSOM_TRY(expect(")"));
      return value;
    }
    if (found.text == "[") {
      value.kind = Kind::List;
      while (!take("]")) {
        TRANSOM_ASSIGN(Expression item, expression());
        value.arguments.push_back(std::move(item));
        if (!isSign("]"))
          TRANSOM_TRY(expect(","));
      }
      return value;
    }
    return inTemplate(Status::Unsupported, line,
                      "'" + utf8::printable(found.text) + "' in an expression");
  case TemplateWord::Kind::End:
    break;
  }
  return fail("an expression is missing");
}

Result<Expression> TemplateParser::postfix(Expression value) {
  for (;;) {
    if (take(".")) {
      TRANSOM_ASSIGN(std::string member, name());
      value = makeExpression(Kind::Attribute, std::move(member),
                             {std::move(value)});
    } else if (take("[")) {
      TRANSOM_ASSIGN(value, subscript(std::move(value)));
    } else if (take("(")) {
      value = makeExpression(Kind::Call, "", {std::move(value)});
      TRANSOM_TRY(callArguments(value));
    } else if (take("|")) {
      TRANSOM_ASSIGN(std::string filter, name());
      value =
          makeExpression(Kind::Filter, std::move(filter), {std::move(value)});
      if (take("("))
        TRANSOM_TRY(callArguments(value));
    } else if (take("is")) {
      TRANSOM_ASSIGN(value, test(std::move(value)));
    } else {
      return value;
    }
  }
}

/// After `[`: an item, or a slice.
Result<Expression> TemplateParser::subscript(Expression value) {
  Expression none, first = none, last = none;
  none.name = first.name = last.name = "none";
  if (!isSign(":")) {
    TRANSOM_ASSIGN(first, expression());
  }
  if (take("]"))
    return makeExpression(Kind::Item, "", {std::move(value), std::move(first)});
  TRANSOM_TRY(expect(":"));
  if (!isSign("]")) {
    TRANSOM_ASSIGN(last, expression());
  }
  if (isSign(":"))
    return inTemplate(Status::Unsupported, line, "a slice with a step");
  TRANSOM_TRY(expect("]"));
  return makeExpression(Kind::Slice, "",
                        {std::move(value), std::move(first), std::move(last)});
}

/// After `is`.
Result<Expression> TemplateParser::test(Expression value) {
  const bool isNot = take("not");
  TRANSOM_ASSIGN(std::string kind, name());
  value = makeExpression(Kind::Test, std::move(kind), {std::move(value)});
  if (take("("))
    TRANSOM_TRY(callArguments(value));
  return isNot ? makeExpression(Kind::Not, "", {std::move(value)})
               : std::move(value);
}

/// After `(`.
Result<void> TemplateParser::callArguments(Expression &call) {
  while (!take(")")) {
    if (word().kind == TemplateWord::Kind::Name && word(1).text == "=" &&
        word(1).kind == TemplateWord::Kind::Sign) {
      std::string key = words[at].text;
      at += 2;
      TRANSOM_ASSIGN(Expression value, expression());
      call.named.emplace_back(std::move(key), std::move(value));
    } else {
      TRANSOM_ASSIGN(Expression value, expression());
      call.arguments.push_back(std::move(value));
    }
    if (!isSign(")"))
      TRANSOM_TRY(expect(","));
  }
  return {};
}

Result<std::vector<Statement>> jinja::parseTemplate(const std::string &text) {
  TRANSOM_ASSIGN(std::vector<TemplatePart> parts, splitTemplate(text));
  return TemplateParser(std::move(parts)).parse();
}
