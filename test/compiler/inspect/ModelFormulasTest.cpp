// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of terms. Formulas of whole models are compared with numbers computed by
// hand in test/tools/commands/test_inspect_model.py.
#include "compiler/inspect/ModelFormulas.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

TEST(ModelFormulas, theSumsAreOfAllTerms) {
  EntryFormulas entry{"run", 1, 8, 4, {}};
  entry.terms = {{"mlp", "16*l*b*s*d^2", 4096, 2048, "narrow"},
                 {"head", "", 0, 100, "not in the formula"}};
  EXPECT_EQ(entry.getTextbook(), 4096);
  EXPECT_EQ(entry.getExact(), 2148);

  FormulaReport report;
  report.entries = {entry};
  std::string text;
  llvm::raw_string_ostream stream(text);
  report.addText(stream);
  EXPECT_NE(text.find("  x 0.500\n    narrow\n"), std::string::npos) << text;
}

TEST(ModelFormulas, aModelWithoutAttentionHasNone) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  FormulaReport().addText(stream);
  EXPECT_EQ(text, "");
}

} // namespace
