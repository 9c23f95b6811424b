// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statement and expression trees, and invalid templates.
#include "compiler/import/huggingface/TemplateSyntax.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::jinja;

/// Returns an expression with all its brackets.
static std::string show(const Expression &expression) {
  using Kind = Expression::Kind;
  std::string shown;
  switch (expression.kind) {
  case Kind::Text:
    return "'" + expression.name + "'";
  case Kind::Integer:
    return std::to_string(expression.number);
  case Kind::Constant:
  case Kind::Variable:
    return expression.name;
  default:
    shown = "(" + std::string(1, "######[:cftn-b?"[int(expression.kind)]) +
            expression.name;
  }
  for (const Expression &argument : expression.arguments)
    shown += " " + show(argument);
  for (const auto &[name, argument] : expression.named)
    shown += " " + name + "=" + show(argument);
  return shown + ")";
}

static std::string parse(const std::string &expression) {
  auto statements = parseTemplate("{{ " + expression + " }}");
  return statements ? show(statements->front().value)
                    : statements.error().message;
}

static std::string getError(const std::string &text, Status status) {
  auto statements = parseTemplate(text);
  EXPECT_FALSE(statements) << text;
  if (statements)
    return "";
  EXPECT_EQ(int(statements.error().status), int(status)) << text;
  return statements.error().message;
}

TEST(TemplateParser, operators_bind_as_in_jinja) {
  EXPECT_EQ(parse("a or b and not c == d"), "(bor a (band b (n (b== c d))))");
  EXPECT_EQ(parse("a ~ b + c * 2"), "(b+ (b~ a b) (b* c 2))");
  EXPECT_EQ(parse("a not in b"), "(n (bin a b))");
  EXPECT_EQ(parse("a if b else c"), "(? a b c)");
  EXPECT_EQ(parse("a is not defined and b"), "(band (n (tdefined a)) b)");
  EXPECT_EQ(parse("-1"), "(- 1)");
}

TEST(TemplateParser, filters_items_and_calls) {
  EXPECT_EQ(parse("m | selectattr('role', \"eq\", 'q') | first"),
            "(ffirst (fselectattr m 'role' 'eq' 'q'))");
  EXPECT_EQ(parse("m|map(attribute='c')"), "(fmap m attribute='c')");
  EXPECT_EQ(parse("(m | first).content[0]['x']"),
            "([ ([ (#content (ffirst m)) 0) 'x')");
  EXPECT_EQ(parse("m[1:]"), "(: m 1 none)");
  EXPECT_EQ(parse("f(a, b=none)"), "(c f a b=none)");
  EXPECT_EQ(parse("'a' 'b'"), "'ab'");
  EXPECT_EQ(parse("[True, x]"), "(# true x)");
}

TEST(TemplateParser, statements_are_nested) {
  auto parsed = parseTemplate("{% for m in a %}{% if x %}1{% elif y %}2"
                              "{% else %}3{% endif %}{% else %}4{% endfor %}"
                              "{% set n.k = 5 %}");
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->size(), 2u);
  const Statement &loop = (*parsed)[0], &choice = loop.body.at(0);
  EXPECT_EQ(loop.name, "m");
  EXPECT_EQ(loop.otherwise.at(0).name, "4");
  EXPECT_EQ(choice.body.at(0).name, "1");
  EXPECT_EQ(choice.otherwise.at(0).body.at(0).name, "2");
  EXPECT_EQ(choice.otherwise.at(0).otherwise.at(0).name, "3");
  EXPECT_EQ((*parsed)[1].member, "k");
}

TEST(TemplateParser, what_is_not_jinja) {
  EXPECT_EQ(getError("\n{{ a b }}", Status::Rejected),
            "line 2: 'b' is not expected");
  EXPECT_EQ(getError("{% if a %}", Status::Rejected),
            "line 1: 'endif' is missing");
  EXPECT_EQ(getError("{% if a %}{% endfor %}", Status::Unsupported),
            "line 1: 'endfor' is not supported; supported: for, if, set");
  EXPECT_EQ(getError("{{ }}", Status::Rejected),
            "line 1: an expression is missing");
  EXPECT_EQ(getError("{{ " + std::string(200, '(') + " }}", Status::Rejected),
            "line 1: expressions are nested too deeply");
}

TEST(TemplateParser, parts_of_jinja_that_are_not_supported) {
  EXPECT_EQ(getError("{% macro f() %}", Status::Unsupported),
            "line 1: 'macro' is not supported; supported: for, if, set");
  EXPECT_EQ(getError("{% set a %}x{% endset %}", Status::Unsupported),
            "line 1: 'set' of a block or of several names");
  EXPECT_EQ(getError("{{ m[1:2:3] }}", Status::Unsupported),
            "line 1: a slice with a step");
  EXPECT_EQ(getError("{% for a, b in c %}", Status::Rejected),
            "line 1: expected 'in', got ','");
}
