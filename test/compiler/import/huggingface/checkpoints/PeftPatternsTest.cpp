// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Module name patterns against Python's `re.match` for `(.*\.)?(PATTERN)$`.
#include "compiler/import/huggingface/checkpoints/PeftPatterns.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

bool matches(const char *pattern, const char *module) {
  Result<ModulePattern> parsed = ModulePattern::parse(pattern);
  EXPECT_TRUE(parsed) << pattern << ": "
                      << (parsed ? "" : parsed.error().message);
  return parsed && parsed->matches(module);
}

constexpr const char *query = "model.layers.11.self_attn.q_proj";

} // namespace

TEST(ModulePattern, names_match_at_a_dot) {
  EXPECT_TRUE(matches("q_proj", query));
  EXPECT_TRUE(matches("self_attn.q_proj", query));
  EXPECT_TRUE(matches(query, query));
  EXPECT_FALSE(matches("_proj", query));
  EXPECT_FALSE(matches("attn.q_proj", query));
  EXPECT_FALSE(matches("self_attn", query));
  EXPECT_FALSE(matches("q_proj", "model.q_proj.lora"));
}

TEST(ModulePattern, expressions_are_those_of_python) {
  for (const char *pattern :
       {".*q_proj", R"(layers\.\d+\.self_attn\.[qkv]_proj)",
        R"(^model\.layers\.(?:1|11)\..*?proj)", R"(\w+\.self_attn\.q_proj)",
        "layers.[0-9]{2}.self_attn.q_proj", R"([^\s.]+_proj)",
        R"(layers\.1{2,}\..*)", "(?P<layer>layers.*)", R"(\Amodel.*\Z)",
        R"([\w.]+)", "[-_a-z]+", "[]q_proj]*"})
    EXPECT_TRUE(matches(pattern, query)) << pattern;
  for (const char *pattern :
       {R"(layers\.\d\.self_attn\.q_proj)", "^layers.*", "[^q]_proj",
        R"(layers\.(2|3)\..*)", "layers.{1,3}", R"(q\D_proj)", R"(model\.)",
        R"(self\.attn\..*)"})
    EXPECT_FALSE(matches(pattern, query)) << pattern;
  EXPECT_TRUE(matches("a{b}", "x.a{b}"));
  EXPECT_TRUE(matches("[a^]", "^"));
  EXPECT_TRUE(matches("[-^]", "^"));
  EXPECT_TRUE(matches(R"(\[a\-b\])", "[a-b]"));
}

TEST(ModulePattern, others_are_refused) {
  auto refuse = [](const char *pattern) {
    Result<ModulePattern> parsed = ModulePattern::parse(pattern);
    return parsed ? std::string("parsed")
                  : (parsed.error().status == Status::Unsupported ? "4: "
                                                                  : "3: ") +
                        parsed.error().message;
  };
  EXPECT_EQ(refuse("(?=q)_proj"),
            "4: pattern '(?=q)_proj' has look-around, a flag or a back "
            "reference, which is not supported");
  EXPECT_EQ(refuse(R"(\bq_proj)"),
            "4: pattern '\\bq_proj' has '\\b', which is not supported");
  EXPECT_EQ(refuse("q++"), "4: pattern 'q++' has a possessive quantifier, "
                           "which is not supported");
  EXPECT_EQ(refuse("q_proj\\"), "3: pattern 'q_proj\\' ends in a backslash");
  EXPECT_EQ(refuse("[q_proj"), "3: pattern '[q_proj' has a set without an end");
  EXPECT_EQ(refuse("(q_proj").substr(0, 40),
            "3: '(q_proj' is no regular expression: p");
}
