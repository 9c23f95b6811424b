// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How pages are filled, hashed and escaped.
#include "tools/commands/PageTemplate.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::tools;

TEST(PageTemplate, FillsPlaces) {
  // The hashes are from `openssl dgst -sha256 -binary | base64`.
  const PageFiles files = {"<{{title}}|{{style-hash}}|{{style}}|{{data}}|{{"
                           "script}}|{{script-hash}}>",
                           "b{}", "f()"};
  std::string page;
  Result<void> filled = fillPage(
      files,
      [](std::string_view name, const ByteSink &sink) {
        return sink(name == "title" ? "a {{title}}" : "data");
      },
      [&](std::string_view bytes) -> Result<void> {
        page += bytes;
        return {};
      });
  ASSERT_TRUE(filled);
  EXPECT_EQ(page, "<a "
                  "{{title}}|7yqHVAesot11p6HczDsgKRipvI5UPgs97z80zNXlans=|b{}|"
                  "data|f()|GcEEE0IkDzIP5EQ6DXZaDPORqT5RTBELX8Fyzyg9yvo=>");
}

TEST(PageTemplate, GivesErrorsOfTheSink) {
  Result<void> filled = fillPage(
      {"text", "", ""},
      [](std::string_view, const ByteSink &) -> Result<void> { return {}; },
      [](std::string_view) -> Result<void> { return rejected("full"); });
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.takeError().message, "full");
}

TEST(PageTemplate, EscapesText) {
  EXPECT_EQ(escapeHtml("a<b> & 'c'"), "a&lt;b> &amp; 'c'");
  EXPECT_EQ(
      escapeJson("[\"</script>\", \"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\"]"),
      "[\"\\u003c/script>\", \"\\u2028\\u2029\xe2\x80\xaa\"]");
}

TEST(PageTemplate, PagesHaveTheirFiles) {
  for (const PageFiles &page : {attentionPage, explainPage}) {
    EXPECT_NE(page.html.find("{{data}}"), std::string_view::npos);
    EXPECT_EQ(page.script.substr(0, 12), "'use strict'");
    EXPECT_FALSE(page.style.empty());
  }
}
