// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a template's statements. They write bytes and slots, which form the
// result.
#include "compiler/import/huggingface/ChatTemplate.h"
#include "compiler/import/huggingface/TemplateValue.h"
#include "runtime/base/File.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/JsonParser.h"
#include <algorithm>
#include <map>

using namespace transom;
using namespace transom::jinja;

namespace {

/// One template run.
class TemplateRun {
public:
  void set(const std::string &name, TemplateValue value) {
    scopes.back()[name] = std::move(value);
  }
  Result<void> run(const std::vector<Statement> &statements);
  /// The output.
  std::vector<TemplateSpan> spans;

private:
  using Kind = Expression::Kind;
  using Values = std::vector<TemplateValue>;

  Result<void> run(const Statement &statement);
  Result<void> assign(const Statement &statement);
  Result<void> loop(const Statement &statement);
  TemplateValue find(const std::string &name) const;
  Result<TemplateValue> evaluate(const Expression &expression);
  Result<Values> evaluateFrom(const Expression &expression, size_t first);
  Result<TemplateValue> call(const Expression &expression);
  Result<TemplateValue> item(const TemplateValue &value,
                             const TemplateValue &index);
  Result<TemplateValue> slice(const Values &values);
  Result<TemplateValue> binary(const Expression &expression);
  Result<TemplateValue> add(const std::string &sign, const TemplateValue &a,
                            const TemplateValue &b);
  Result<bool> compare(const std::string &sign, const TemplateValue &a,
                       const TemplateValue &b);
  Result<std::vector<std::pair<std::string, TemplateValue>>>
  evaluateNamed(const Expression &expression);

  std::vector<std::map<std::string, TemplateValue>> scopes{1};
  size_t steps = 0;
};

/// Max number of statements that a template may run.
constexpr size_t maxTemplateSteps = 100000;

} // namespace

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

Result<void> TemplateRun::run(const std::vector<Statement> &statements) {
  for (const Statement &statement : statements)
    TRANSOM_TRY(run(statement));
  return {};
}

Result<void> TemplateRun::run(const Statement &statement) {
  if (++steps > maxTemplateSteps)
    return unsupported("it runs too many statements");
  switch (statement.kind) {
  case Statement::Kind::Text:
    spans.push_back({false, statement.name});
    return {};
  case Statement::Kind::Output: {
    TRANSOM_ASSIGN(TemplateValue value, evaluate(statement.value));
    TRANSOM_ASSIGN(std::vector<TemplateSpan> written, value.write());
    spans.insert(spans.end(), written.begin(), written.end());
    return {};
  }
  case Statement::Kind::If: {
    TRANSOM_ASSIGN(TemplateValue value, evaluate(statement.value));
    TRANSOM_ASSIGN(const bool isTrue, value.isTrue());
    return run(isTrue ? statement.body : statement.otherwise);
  }
  case Statement::Kind::For:
    return loop(statement);
  case Statement::Kind::Set:
    return assign(statement);
  }
  return {};
}

Result<void> TemplateRun::assign(const Statement &statement) {
  TRANSOM_ASSIGN(TemplateValue value, evaluate(statement.value));
  if (statement.member.empty()) {
    set(statement.name, std::move(value));
    return {};
  }
  TemplateValue target = find(statement.name);
  if (!target.is(TemplateValue::Kind::Map))
    return unsupported("it sets a member of '" +
                       utf8::printable(statement.name) +
                       "', which is not a namespace");
  for (auto &[name, old] : *target.map)
    if (name == statement.member) {
      old = std::move(value);
      return {};
    }
  target.map->emplace_back(statement.member, std::move(value));
  return {};
}

Result<void> TemplateRun::loop(const Statement &statement) {
  TRANSOM_ASSIGN(TemplateValue value, evaluate(statement.value));
  if (!value.is(TemplateValue::Kind::List))
    return unsupported("a loop over a value that is not a list");
  const TemplateValue::List items = *value.list;
  if (items.empty())
    return run(statement.otherwise);
  for (size_t i = 0; i != items.size(); ++i) {
    scopes.emplace_back();
    set(statement.name, items[i]);
    const auto at = int64_t(i), count = int64_t(items.size());
    set("loop",
        TemplateValue::ofMap({{"index", TemplateValue::integer(at + 1)},
                              {"index0", TemplateValue::integer(at)},
                              {"first", TemplateValue::boolean(at == 0)},
                              {"last", TemplateValue::boolean(at + 1 == count)},
                              {"length", TemplateValue::integer(count)}}));
    TRANSOM_TRY(run(statement.body));
    scopes.pop_back();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

TemplateValue TemplateRun::find(const std::string &name) const {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (auto found = scope->find(name); found != scope->end())
      return found->second;
  return {};
}

Result<TemplateRun::Values>
TemplateRun::evaluateFrom(const Expression &expression, size_t first) {
  Values values;
  for (size_t i = first; i < expression.arguments.size(); ++i) {
    TRANSOM_ASSIGN(TemplateValue value, evaluate(expression.arguments[i]));
    values.push_back(std::move(value));
  }
  return values;
}

Result<std::vector<std::pair<std::string, TemplateValue>>>
TemplateRun::evaluateNamed(const Expression &expression) {
  std::vector<std::pair<std::string, TemplateValue>> named;
  for (const auto &[name, argument] : expression.named) {
    TRANSOM_ASSIGN(TemplateValue value, evaluate(argument));
    named.emplace_back(name, std::move(value));
  }
  return named;
}

Result<TemplateValue> TemplateRun::evaluate(const Expression &expression) {
  if (++steps > maxTemplateSteps)
    return unsupported("it runs too many statements");
  switch (expression.kind) {
  case Kind::Text:
    return TemplateValue::text(expression.name);
  case Kind::Integer:
    return TemplateValue::integer(expression.number);
  case Kind::Constant:
    return expression.name == "none"
               ? TemplateValue::none()
               : TemplateValue::boolean(expression.name == "true");
  case Kind::Variable:
    return find(expression.name);
  case Kind::Call:
    return call(expression);
  case Kind::Binary:
    return binary(expression);
  case Kind::Choose: {
    TRANSOM_ASSIGN(TemplateValue condition, evaluate(expression.arguments[1]));
    TRANSOM_ASSIGN(const bool isTrue, condition.isTrue());
    return evaluate(expression.arguments[isTrue ? 0 : 2]);
  }
  default:
    break;
  }
  // The other expressions evaluate all arguments first.
  TRANSOM_ASSIGN(Values values, evaluateFrom(expression, 0));
  switch (expression.kind) {
  case Kind::List:
    return TemplateValue::ofList(std::move(values));
  case Kind::Attribute:
    return values[0].getMember(expression.name);
  case Kind::Item:
    return item(values[0], values[1]);
  case Kind::Slice:
    return slice(values);
  case Kind::Not: {
    TRANSOM_ASSIGN(const bool isTrue, values[0].isTrue());
    return TemplateValue::boolean(!isTrue);
  }
  case Kind::Negate:
    if (values[0].is(TemplateValue::Kind::Integer))
      return TemplateValue::integer(-values[0].number);
    return unsupported("'-' before a value that is not an integer");
  case Kind::Test: {
    TRANSOM_ASSIGN(const bool passes,
                   applyTest(expression.name, values[0],
                             Values(values.begin() + 1, values.end())));
    return TemplateValue::boolean(passes);
  }
  default:
    break;
  }
  TRANSOM_ASSIGN(auto named, evaluateNamed(expression));
  return applyFilter(expression.name, values[0],
                     Values(values.begin() + 1, values.end()), named);
}

/// Calls one of the functions that transformers provides to templates.
Result<TemplateValue> TemplateRun::call(const Expression &expression) {
  const Expression &function = expression.arguments.front();
  TRANSOM_ASSIGN(Values values, evaluateFrom(expression, 1));
  TRANSOM_ASSIGN(auto named, evaluateNamed(expression));
  if (function.kind == Kind::Variable && function.name == "namespace" &&
      values.empty())
    return TemplateValue::ofMap(std::move(named));
  if (function.kind == Kind::Variable && function.name == "raise_exception" &&
      values.size() == 1)
    return unsupported(
        "it says '" + utf8::printable(values[0].getBytes().value_or("")) + "'");
  return unsupported("the function '" + utf8::printable(function.name) +
                     "'; supported: namespace, raise_exception");
}

/// Returns the position of an index in a list; negative indices count from the
/// end.
static int64_t countFromEnd(int64_t index, size_t size) {
  return index < 0 ? index + int64_t(size) : index;
}

Result<TemplateValue> TemplateRun::item(const TemplateValue &value,
                                        const TemplateValue &index) {
  if (auto name = index.getBytes())
    return value.getMember(*name);
  if (!value.is(TemplateValue::Kind::List) ||
      !index.is(TemplateValue::Kind::Integer))
    return unsupported("an item of a value that is not a list or a map");
  const int64_t at = countFromEnd(index.number, value.list->size());
  if (at < 0 || at >= int64_t(value.list->size()))
    return TemplateValue();
  return (*value.list)[size_t(at)];
}

Result<TemplateValue> TemplateRun::slice(const Values &values) {
  if (!values[0].is(TemplateValue::Kind::List))
    return unsupported("a slice of a value that is not a list");
  const TemplateValue::List &items = *values[0].list;
  const auto count = int64_t(items.size());
  int64_t bounds[2] = {0, count};
  for (size_t i = 0; i != 2; ++i) {
    if (values[i + 1].is(TemplateValue::Kind::None))
      continue;
    if (!values[i + 1].is(TemplateValue::Kind::Integer))
      return unsupported("a slice whose bounds are not integers");
    bounds[i] = std::clamp<int64_t>(
        countFromEnd(values[i + 1].number, items.size()), 0, count);
  }
  if (bounds[0] >= bounds[1])
    return TemplateValue::ofList({});
  return TemplateValue::ofList(TemplateValue::List(items.begin() + bounds[0],
                                                   items.begin() + bounds[1]));
}

Result<TemplateValue> TemplateRun::binary(const Expression &expression) {
  const std::string &sign = expression.name;
  TRANSOM_ASSIGN(TemplateValue a, evaluate(expression.arguments[0]));
  if (sign == "and" || sign == "or") {
    TRANSOM_ASSIGN(const bool isTrue, a.isTrue());
    if (isTrue == (sign == "or"))
      return a;
    return evaluate(expression.arguments[1]);
  }
  TRANSOM_ASSIGN(TemplateValue b, evaluate(expression.arguments[1]));
  if (sign == "~" || sign == "+" || sign == "-" || sign == "*" || sign == "/" ||
      sign == "%")
    return add(sign, a, b);
  TRANSOM_ASSIGN(const bool found, compare(sign, a, b));
  return TemplateValue::boolean(found);
}

Result<TemplateValue> TemplateRun::add(const std::string &sign,
                                       const TemplateValue &a,
                                       const TemplateValue &b) {
  using V = TemplateValue::Kind;
  if (sign == "~" || (sign == "+" && a.is(V::Text) && b.is(V::Text))) {
    TemplateValue sum = TemplateValue::text("");
    TRANSOM_ASSIGN(sum.spans, a.write());
    TRANSOM_ASSIGN(std::vector<TemplateSpan> more, b.write());
    sum.spans.insert(sum.spans.end(), more.begin(), more.end());
    return sum;
  }
  if (sign == "+" && a.is(V::List) && b.is(V::List)) {
    TemplateValue::List items = *a.list;
    items.insert(items.end(), b.list->begin(), b.list->end());
    return TemplateValue::ofList(std::move(items));
  }
  if (a.is(V::Integer) && b.is(V::Integer)) {
    if (sign == "+" || sign == "-")
      return TemplateValue::integer(sign == "+" ? a.number + b.number
                                                : a.number - b.number);
    if (sign == "%" && a.number >= 0 && b.number > 0)
      return TemplateValue::integer(a.number % b.number);
  }
  return unsupported("'" + sign + "' of these values");
}

Result<bool> TemplateRun::compare(const std::string &sign,
                                  const TemplateValue &a,
                                  const TemplateValue &b) {
  using V = TemplateValue::Kind;
  if (sign == "==" || sign == "!=") {
    TRANSOM_ASSIGN(const bool same, areEqual(a, b));
    return same == (sign == "==");
  }
  if (sign == "in") {
    const auto part = a.getBytes(), whole = b.getBytes();
    if (part && whole)
      return whole->find(*part) != std::string::npos;
    if (part && b.is(V::Map))
      return std::any_of(b.map->begin(), b.map->end(),
                         [&](const auto &each) { return each.first == *part; });
    return applyTest("in", a, {b});
  }
  if (!a.is(V::Integer) || !b.is(V::Integer))
    return unsupported("'" + sign + "' of values that are not integers");
  const bool isEqual = a.number == b.number;
  return sign.front() == '<' ? a.number < b.number || (isEqual && sign == "<=")
                             : a.number > b.number || (isEqual && sign == ">=");
}

//===----------------------------------------------------------------------===//
// Templates
//===----------------------------------------------------------------------===//

static TemplateValue makeMessage(const char *role, const char *slot,
                                 bool structured) {
  TemplateValue content = TemplateValue::slot(slot);
  if (structured)
    content = TemplateValue::ofList({TemplateValue::ofMap(
        {{"type", TemplateValue::text("text")}, {"text", content}})});
  return TemplateValue::ofMap(
      {{"role", TemplateValue::text(role)}, {"content", std::move(content)}});
}

Result<ManifestTemplate>
transom::fillChatTemplate(const std::string &text,
                          const TemplateVariables &variables, bool structured,
                          bool hasPrompt) {
  TRANSOM_ASSIGN(const std::vector<Statement> statements, parseTemplate(text));
  // Set the variables: defaults that transformers passes, then the given ones.
  TemplateRun run;
  run.set("add_generation_prompt", TemplateValue::boolean(false));
  run.set("tools", TemplateValue::none());
  run.set("documents", TemplateValue::none());
  for (const auto &[name, json] : variables) {
    TRANSOM_ASSIGN(TemplateValue value, TemplateValue::ofJson(json));
    run.set(name, std::move(value));
  }
  // Create the messages and run the template.
  TemplateValue::List messages;
  if (hasPrompt)
    messages.push_back(makeMessage("system", "prompt", structured));
  messages.push_back(makeMessage("query", "query", structured));
  messages.push_back(makeMessage("document", "document", structured));
  run.set("messages", TemplateValue::ofList(std::move(messages)));
  TRANSOM_TRY(run.run(statements));

  ManifestTemplate made;
  made.literals.emplace_back();
  for (const TemplateSpan &span : run.spans)
    if (span.isSlot) {
      made.slots.push_back(span.text);
      made.literals.emplace_back();
    } else {
      made.literals.back() += span.text;
    }
  // The template must use query and document.
  for (const char *slot : {"query", "document"})
    if (std::find(made.slots.begin(), made.slots.end(), slot) ==
        made.slots.end())
      return unsupported(
          std::string("it leaves out the message of the role '") + slot + "'");
  return made;
}

Result<std::optional<std::string>>
transom::readChatTemplate(const std::string &folder, const std::string &name,
                          std::vector<std::string> &files) {
  // A separate file takes precedence over the key in the settings.
  const std::string file = name == "default"
                               ? "chat_template.jinja"
                               : "additional_chat_templates/" + name + ".jinja";
  const std::string path = joinPath(folder, file);
  if (fileExists(path)) {
    TRANSOM_ASSIGN(std::string text, readSmallFile(path, jsonMaxBytes));
    files.push_back(file);
    return std::optional(std::move(text));
  }
  const std::string settingsPath = joinPath(folder, "tokenizer_config.json");
  if (!fileExists(settingsPath))
    return std::optional<std::string>();
  TRANSOM_ASSIGN(std::string text, readSmallFile(settingsPath, jsonMaxBytes));
  TRANSOM_ASSIGN(JsonDocument settings,
                 parseJson(text, settingsPath, JsonNumbers::Python));
  auto value = settings.root().find("chat_template");
  if (!value || value->isNull())
    return std::optional<std::string>();
  if (value->isString() && name == "default")
    return std::optional(std::string(*value->asString()));
  if (value->isString())
    return std::optional<std::string>();
  TRANSOM_TRY(value->expectArray());
  for (JsonValue each : value->elements()) {
    TRANSOM_ASSIGN(JsonValue named, each.get("name"));
    TRANSOM_ASSIGN(JsonValue body, each.get("template"));
    TRANSOM_ASSIGN(std::string_view known, named.asString());
    TRANSOM_ASSIGN(std::string_view found, body.asString());
    if (known == name)
      return std::optional(std::string(found));
  }
  return std::optional<std::string>();
}
