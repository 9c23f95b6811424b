// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text and tags in a template, and the white space that tags remove. Expected
// results come from Jinja 3.1 with trim_blocks and lstrip_blocks.
#include "compiler/import/huggingface/TemplateWords.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::jinja;

/// Returns the parts, each as its kind and text.
static std::string split(const std::string &text) {
  auto parts = splitTemplate(text);
  if (!parts)
    return parts.error().message;
  std::string shown;
  for (const TemplatePart &part : *parts)
    shown += std::string(1, part.kind) + "<" + part.text + ">";
  return shown;
}

TEST(TemplateWords, tags_take_white_space) {
  EXPECT_EQ(split("a {{ b }}\n c"), " <a >{< b > <\n c>");
  EXPECT_EQ(split("a\n  {% if x %}\n b"), " <a\n>%< if x > < b>");
  EXPECT_EQ(split("a  {% if x %} b"), " <a  >%< if x > < b>");
  EXPECT_EQ(split("a \n {%- if x -%} \n b"), " <a>%< if x > <b>");
  EXPECT_EQ(split("a\n  {%+ if x +%}\nb"), " <a\n  >%< if x > <\nb>");
  EXPECT_EQ(split("a {{- b -}} c"), " <a>{< b > <c>");
  EXPECT_EQ(split("  {# no {{ x }} #}\nb"), " <b>");
}

TEST(TemplateWords, a_template_ends_without_its_last_line_end) {
  EXPECT_EQ(split("a\r\nb\n"), " <a\nb>");
  EXPECT_EQ(split("a\n\n"), " <a\n>");
  EXPECT_EQ(split(""), "");
}

TEST(TemplateWords, texts_hide_the_end_of_a_tag) {
  EXPECT_EQ(split("{{ '}}' }}{"), "{< '}}' > <{>");
  EXPECT_EQ(split("{{ 'a\\'}}' }}"), "{< 'a\\'}}' >");
  EXPECT_EQ(split("\n{{ a"), "line 2: '{{' is not closed");
}

TEST(TemplateWords, words_of_a_tag) {
  auto words = splitWords({'{', " a_1 != 'x\\n\"' | d(12)", 1});
  ASSERT_TRUE(words) << words.error().message;
  std::string shown;
  for (const TemplateWord &word : *words)
    shown += std::to_string(int(word.kind)) + word.text + " ";
  EXPECT_EQ(shown, "0a_1 3!= 1x\n\" 3| 0d 3( 212 3) 4 ");
  EXPECT_EQ(splitWords({'{', "'a", 3}).error().message,
            "line 3: a text is not closed");
  auto code = splitWords({'{', "'\\u00e9'", 1});
  EXPECT_EQ(code.error().message, "line 1: '\\u' in a text");
  EXPECT_EQ(code.error().status, Status::Unsupported);
}
