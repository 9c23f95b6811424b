// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statistics as text and as JSON.
// test/tools/commands/inspect/test_inspect_model.py compares complete models
// with hand-computed values.
#include "compiler/statistics/ModelFigures.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

ModelFigures makeFigures() {
  ModelFigures figures;
  figures.parameters.layers = {{"", 0, 0, {{"embedding", 4}}},
                               {"h", 0, 11, {{"mlp", 8}}}};
  figures.parameters.components = {{"embedding", 4}, {"mlp", 96}};
  EntryFormulas entry{"run", 1, 8, 4, {}};
  entry.terms = {{"mlp", "16*l*b*s*d^2", 4096, 2048, "narrow"},
                 {"head", "", 0, 100, "not in the formula"}};
  figures.formulas.layers = 1;
  figures.formulas.width = 8;
  figures.formulas.entries = {entry};
  figures.formulas.training = {"training", "6*N*D", 600, 537.5, "why"};
  return figures;
}

TEST(ModelFigures, equalLayersAreOneLine) {
  std::string text;
  makeFigures().parameters.addText(text);
  EXPECT_NE(text.find("h 0-11, each: 8 (mlp 8)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("outside of layers: 4 (embedding 4)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(" 96.0 %"), std::string::npos) << text;
}

TEST(ModelFigures, theSumsAreOfAllTerms) {
  const ModelFigures figures = makeFigures();
  EXPECT_EQ(figures.formulas.entries[0].getTextbook(), 4096);
  EXPECT_EQ(figures.formulas.entries[0].getExact(), 2148);
  std::string text;
  figures.formulas.addText(text);
  EXPECT_NE(text.find("  x 0.500\n    narrow\n"), std::string::npos) << text;
}

TEST(ModelFigures, aModelWithoutAttentionHasNoFormulas) {
  std::string text;
  FormulaReport().addText(text);
  EXPECT_EQ(text, "");
  EXPECT_EQ(ModelFigures().toJson().find("formulas"), std::string::npos);
}

TEST(ModelFigures, whatIsWrittenReadsBack) {
  const std::string json = makeFigures().toJson();
  Result<ModelFigures> read = ModelFigures::parse(json, "figures");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->toJson(), json);
  EXPECT_EQ(read->formulas.training.exact, 537.5);
  EXPECT_EQ(read->parameters.layers[1].last, 11);
}

TEST(ModelFigures, malformedFiguresAreRejected) {
  const std::string json = makeFigures().toJson();
  auto replace = [&](const std::string &from, const std::string &to) {
    std::string text = json;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  for (const std::string &text :
       {std::string("{}"), std::string("[]"), json.substr(0, 40),
        replace("\"mlp\":8", "\"mlp\":-8"),
        replace("\"length\":4", "\"length\":0"),
        replace("\"entry\":\"run\"", "\"entry\":1"),
        replace("\"last\":11", "\"last\":\"x\""),
        replace("\"exact\":2048", "\"exact\":[]")}) {
    Result<ModelFigures> read = ModelFigures::parse(text, "figures");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().status, Status::Rejected);
    EXPECT_EQ(read.error().message.find("figures:1:"), 0u)
        << read.error().message;
  }
}

} // namespace
