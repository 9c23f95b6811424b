// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Templates from published rerankers, template locations, and templates that do
// not fit a pair.
#include "compiler/import/huggingface/ChatTemplate.h"
#include "test/compiler/import/huggingface/sentence_transformers/PipelineFolder.h"

using namespace transom;
using namespace transom::testing;

/// Returns the template with slots in brackets; or the error.
static std::string fill(const std::string &text, bool hasPrompt = false,
                        bool structured = false) {
  auto filled = fillChatTemplate(text, {}, structured, hasPrompt);
  if (!filled)
    return filled.error().message;
  std::string shown = filled->literals.front();
  for (size_t i = 0; i != filled->slots.size(); ++i)
    shown += "[" + filled->slots[i] + "]" + filled->literals[i + 1];
  return shown;
}

TEST(ChatTemplate, by_filters_with_a_prompt_and_without) {
  const std::string text = R"(<Instruct>: {{ messages
    | selectattr("role", "eq", "system") | map(attribute="content")
    | first | default("find") }}
<Query>: {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
<Document>: {{ (messages | selectattr("role", "eq", "document") | first).content }}<end>
)";
  EXPECT_EQ(fill(text), "<Instruct>: find\n<Query>: [query]\n"
                        "<Document>: [document]<end>");
  EXPECT_EQ(fill(text, true), "<Instruct>: [prompt]\n<Query>: [query]\n"
                              "<Document>: [document]<end>");
}

TEST(ChatTemplate, by_statements) {
  const std::string text = R"({%- set ns = namespace(count=0) -%}
{% for message in messages %}
    {% if message['role'] == "query" %}
Q {{ loop.index }}: {{ message.content }}
    {% elif message.role in ["document"] %}
D: {{- " " ~ message.content ~ "\n" }}
    {% endif %}
    {% set ns.count = ns.count + 1 %}
{% endfor %}
{{ ns.count }}{% if add_generation_prompt %}!{% endif %})";
  EXPECT_EQ(fill(text), "Q 1: [query]\nD: [document]\n\n2");
}

TEST(ChatTemplate, content_may_be_a_list) {
  const std::string text =
      "{% for m in messages %}{{ m.content[0].text }}|{% endfor %}";
  EXPECT_EQ(fill(text, false, true), "[query]|[document]|");
  EXPECT_EQ(fill(text).substr(0, 21), "an item of a value th");
}

TEST(ChatTemplate, variables) {
  auto kwargs = parseJson(R"({"add_generation_prompt": true, "x": "y"})", "k");
  TemplateVariables variables;
  for (JsonValue::Member member : kwargs->root().members())
    variables.emplace_back(member.key, member.value);
  auto filled =
      fillChatTemplate("{{ x }}{% if add_generation_prompt %}!{% endif %}"
                       "{{ messages[0].content }}{{ messages[-1].content }}",
                       variables, false, false);
  ASSERT_TRUE(filled) << filled.error().message;
  EXPECT_EQ(filled->literals.front(), "y!");
}

TEST(ChatTemplate, leaves_out_no_text) {
  EXPECT_EQ(fill("{{ messages[0].content }}"),
            "it leaves out the message of the role 'document'");
  EXPECT_EQ(fill("{% for m in messages %}{% if m.role == 'user' %}"
                 "{{ m.content }}{% endif %}{% endfor %}"),
            "it leaves out the message of the role 'query'");
  EXPECT_EQ(fill("{{ raise_exception('no ' ~ 'pairs') }}"),
            "it says 'no pairs'");
  EXPECT_EQ(fill("{{ messages[0].content | trim }}"),
            "the filter 'trim' of a query, document or prompt");
}

TEST(ChatTemplate, is_found_in_files) {
  PipelineFolder folder;
  std::vector<std::string> files;
  auto read = [&](const char *name) {
    auto found = readChatTemplate(folder.path, name, files);
    EXPECT_TRUE(found) << found.error().message;
    return found && *found ? **found : "nothing";
  };
  EXPECT_EQ(read("default"), "nothing");
  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "default", "template": "a"},
                                     {"name": "rerank", "template": "b"}]})");
  EXPECT_EQ(read("default"), "a");
  EXPECT_EQ(read("rerank"), "b");
  EXPECT_EQ(read("tool_use"), "nothing");
  folder.write("chat_template.jinja", "c");
  EXPECT_EQ(read("default"), "c");
  EXPECT_EQ(files, std::vector<std::string>{"chat_template.jinja"});
}
