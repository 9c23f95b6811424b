// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Template filters and tests, and filters that would read a slot's bytes.
#include "compiler/import/huggingface/TemplateValue.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::jinja;

using V = TemplateValue;

static V list(std::vector<V> items) { return V::ofList(std::move(items)); }

/// A value as it is written, slots in brackets; or the error.
static std::string show(const Result<V> &value) {
  if (!value)
    return value.error().message;
  auto spans = (*value).write();
  if (!spans)
    return spans.error().message;
  std::string shown;
  for (const TemplateSpan &span : *spans)
    shown += span.isSlot ? "[" + span.text + "]" : span.text;
  return shown;
}

static std::string apply(const std::string &name, const V &value,
                         const std::vector<V> &arguments = {}) {
  return show(applyFilter(name, value, arguments, {}));
}

TEST(TemplateValue, is_written_as_python_does) {
  EXPECT_EQ(show(V()), "");
  EXPECT_EQ(show(V::none()), "None");
  EXPECT_EQ(show(V::boolean(true)), "True");
  EXPECT_EQ(show(V::integer(-3)), "-3");
  EXPECT_EQ(show(list({})), "it writes a list or a map");
}

TEST(TemplateValue, filters_of_lists) {
  const V items = list({V::text("a"), V::slot("query")});
  EXPECT_EQ(apply("first", items), "a");
  EXPECT_EQ(apply("last", items), "[query]");
  EXPECT_EQ(apply("first", list({})), "");
  EXPECT_EQ(apply("join", items, {V::text(", ")}), "a, [query]");
  EXPECT_EQ(apply("length", items), "2");
  EXPECT_EQ(apply("first", V::text("a")),
            "the filter 'first' of a value that is not a list");
  EXPECT_EQ(apply("tojson", items).substr(0, 30),
            "the filter 'tojson'; supported");
}

TEST(TemplateValue, messages_by_role) {
  auto message = [](const char *role) {
    return V::ofMap({{"role", V::text(role)}, {"content", V::slot(role)}});
  };
  const V messages = list({message("query"), message("document")});
  auto chosen =
      applyFilter("selectattr", messages,
                  {V::text("role"), V::text("eq"), V::text("document")}, {});
  ASSERT_TRUE(chosen);
  ASSERT_EQ(chosen->list->size(), 1u);
  auto contents =
      applyFilter("map", *chosen, {}, {{"attribute", V::text("content")}});
  ASSERT_TRUE(contents);
  EXPECT_EQ(apply("first", *contents), "[document]");
  auto others =
      applyFilter("rejectattr", messages,
                  {V::text("role"), V::text("=="), V::text("document")}, {});
  ASSERT_TRUE(others);
  EXPECT_EQ(show(others->list->front().getMember("content")), "[query]");
}

TEST(TemplateValue, default_is_for_what_is_absent) {
  EXPECT_EQ(apply("default", V(), {V::text("x")}), "x");
  EXPECT_EQ(apply("default", V::text(""), {V::text("x")}), "");
  EXPECT_EQ(apply("d", V::text(""), {V::text("x"), V::boolean(true)}), "x");
  EXPECT_EQ(apply("d", V::slot("prompt"), {V::text("x"), V::boolean(true)}),
            "[prompt]");
}

TEST(TemplateValue, bytes_of_slots_are_not_read) {
  EXPECT_EQ(apply("trim", V::text(" a\n")), "a");
  EXPECT_EQ(apply("trim", V::slot("query")),
            "the filter 'trim' of a query, document or prompt");
  EXPECT_EQ(V::slot("query").isTrue().error().message,
            "it asks whether the query is empty");
  EXPECT_TRUE(*V::slot("prompt").isTrue());
  EXPECT_EQ(areEqual(V::slot("query"), V::text("a")).error().message,
            "it compares a query, document or prompt with another text");
}

TEST(TemplateValue, tests) {
  EXPECT_TRUE(*applyTest("undefined", V(), {}));
  EXPECT_FALSE(*applyTest("defined", V(), {}));
  EXPECT_TRUE(*applyTest("none", V::none(), {}));
  EXPECT_TRUE(*applyTest("string", V::slot("query"), {}));
  EXPECT_FALSE(*applyTest("mapping", list({}), {}));
  EXPECT_TRUE(
      *applyTest("in", V::text("b"), {list({V::text("a"), V::text("b")})}));
  EXPECT_TRUE(*applyTest("ne", V::integer(1), {V::integer(2)}));
  EXPECT_EQ(applyTest("odd", V(), {}).error().message.substr(0, 10),
            "the test '");
}

TEST(TemplateValue, variables_are_simple) {
  auto document = parseJson(R"({"a": true, "b": [1], "c": 2})", "kwargs");
  EXPECT_EQ(show(V::ofJson(*document->root().find("a"))), "True");
  EXPECT_EQ(show(V::ofJson(*document->root().find("c"))), "2");
  EXPECT_EQ(V::ofJson(*document->root().find("b")).error().status,
            Status::Unsupported);
}
