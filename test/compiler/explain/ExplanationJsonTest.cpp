// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The explanation's JSON form: it can be parsed again, and its schema is
// published. TRANSOM_UPDATE=1 in the environment rewrites the schema.
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

/// Returns `text` with the first `from` replaced.
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
      {"missing key 'notes'", replaced(text, "\"notes\"", "\"nots\"")},
      {"expected a boolean",
       replaced(text, "\"changed\": true", "\"changed\": 1")},
      {"expected an object", "[]"},
  };
  for (const auto &[message, changed] : cases)
    EXPECT_NE(readBack(changed).find(message), std::string::npos)
        << message << ": " << readBack(changed);
}

/// Parses a string in another format version as an explanation.
Result<Explanation> readOther(std::string text) {
  text = replaced(std::move(text), "\"format\": 3", "\"format\": 9");
  Result<JsonDocument> document = parseJson(text, "saved.json");
  EXPECT_TRUE(document);
  return parseExplanation(*document);
}

TEST(ExplanationJson, ofAnotherFormatWhatIsKnownIsRead) {
  const Explanation sample = makeSample();
  Result<Explanation> read = readOther(replaced(
      replaced(toJson(sample), "\"changed\": true", "\"changed\": \"very\""),
      "\"notes\"", "\"nots\""));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->model.name, "model");
  EXPECT_EQ(read->remarks.front().kind, "missed");
  EXPECT_FALSE(read->passes.front().changed);
  EXPECT_EQ(read->missing, (std::set<std::string>{"notes", "passes.changed"}));
  EXPECT_EQ(read->notes,
            (std::vector<std::string>{
                "this explanation has format 9, and this transom knows format "
                "3: what both know is shown; it does not have notes, "
                "passes.changed; not known here: nots"}));
}

TEST(ExplanationJson, whatOneFormatLacksIsNotCompared) {
  Explanation a = makeSample(), b = makeSample();
  a.passes.front().changed = false;
  a.missing = {"passes.changed", "imported.entries.flops"};
  keepCommon(a, b);
  EXPECT_FALSE(b.passes.front().changed);
  EXPECT_EQ(b.imported.entries.front().flops.formula, "0");
  EXPECT_EQ(a.imported.entries.front().flops.formula, "2*rows");
  EXPECT_EQ(b.model.name, "model");
}

TEST(ExplanationJson, anotherFormatHasTheSameParts) {
  Result<Explanation> read = readOther(
      replaced(toJson(makeSample()), "\"model\": {", "\"network\": {"));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find(
                "format 9 of explanations is not supported: 'model' is not "
                "as in format 3"),
            std::string::npos)
      << read.error().message;
}

TEST(ExplanationJson, indicesLeadSomewhere) {
  Explanation sample = makeSample();
  sample.passes.front().remarks = {1};
  EXPECT_NE(readBack(toJson(sample)).find("pass 'cse' has remark 1 of 1"),
            std::string::npos);
  sample = makeSample();
  sample.entries.emplace_back().order = {0};
  EXPECT_NE(readBack(toJson(sample)).find("runs phase 0 of 0"),
            std::string::npos);
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
