// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON form of explanations: it reads back, and its schema is published.
// TRANSOM_UPDATE=1 in the environment rewrites the schema.
#include "compiler/explain/ExplanationJson.h"
#include "runtime/base/File.h"
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

using namespace transom;

namespace {

/// An explanation with each kind of field.
Explanation makeSample() {
  Explanation sample;
  sample.model.name = "model";
  sample.compile.options = {{"dtype", "bf16"}};
  sample.compile.disabledPasses = {{"cse", "merges equal operations"}};
  sample.imported.operations = {{"attn.add", 2}};
  sample.imported.entries.push_back({"encode", {"2*rows", 256}, 0, {}, 0, 0});
  ExplainedPass &pass = sample.passes.emplace_back();
  pass.pass = "cse";
  pass.changed = true;
  pass.remarks = {0};
  pass.ir.emplace().text = "module";
  pass.ir->names = {"builtin.module"};
  pass.ir->operations.push_back({1, 0, 0, {0, 2}, -1, {}});
  ExplainedRemark &remark = sample.remarks.emplace_back();
  remark.kind = "missed";
  remark.args = {{"heads", "12"}};
  return sample;
}

std::string readBack(const std::string &text) {
  Result<JsonDocument> document = parseJson(text, "saved.json");
  if (!document)
    return document.error().message;
  Result<Explanation> read = parseExplanation(*document);
  return read ? toJson(*read) : read.error().message;
}

/// `text` with the first `from` replaced.
std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(ExplanationJson, readsBack) {
  const std::string text = toJson(makeSample());
  EXPECT_EQ(readBack(text), text);
}

TEST(ExplanationJson, amountsWithoutValueAreNull) {
  Explanation sample = makeSample();
  sample.imported.entries.front().flops.value.reset();
  const std::string text = toJson(sample);
  EXPECT_NE(text.find("\"value\": null"), std::string::npos) << text;
  EXPECT_EQ(readBack(text), text);
}

TEST(ExplanationJson, anOperationOfAListingIsAnArray) {
  std::string text = toJson(makeSample());
  text.erase(std::remove_if(text.begin(), text.end(), isspace), text.end());
  EXPECT_NE(text.find("[1,0,0,[0,2],-1,[]]"), std::string::npos) << text;
}

TEST(ExplanationJson, refusesOtherForms) {
  const std::string text = toJson(makeSample());
  const std::pair<const char *, std::string> cases[] = {
      {"format 9 of explanations is not supported; supported: 1",
       replaced(text, "\"format\": 1", "\"format\": 9")},
      {"missing key 'notes'", replaced(text, "\"notes\"", "\"nots\"")},
      {"expected a boolean",
       replaced(text, "\"changed\": true", "\"changed\": 1")},
      {"expected an object", "[]"},
  };
  for (const auto &[message, changed] : cases)
    EXPECT_NE(readBack(changed).find(message), std::string::npos)
        << message << ": " << readBack(changed);
}

TEST(ExplanationJson, publishedSchemaIsThatOfTheFields) {
  const std::string path = std::string(std::getenv("TRANSOM_SOURCE_DIR")) +
                           "/docs/reference/explain.schema.json";
  if (std::getenv("TRANSOM_UPDATE"))
    std::ofstream(path) << getExplanationSchema();
  Result<std::string> published = readSmallFile(path, 1 << 24);
  ASSERT_TRUE(published) << published.error().message;
  EXPECT_TRUE(*published == getExplanationSchema())
      << "docs/reference/explain.schema.json is out of date: run "
         "unit-explanation-json with TRANSOM_UPDATE=1";
  EXPECT_TRUE(parseJson(getExplanationSchema(), "schema"));
}

} // namespace
