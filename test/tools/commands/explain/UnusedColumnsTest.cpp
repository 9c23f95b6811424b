// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unused GEMM and attention work, with hand-computed values.
#include "tools/commands/explain/UnusedColumns.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::tools;

namespace {

PhaseOperation makeOperation(const char *name, int64_t flops, int64_t columns,
                             std::vector<int64_t> widths) {
  PhaseOperation operation;
  operation.name = name;
  operation.detail = "detail";
  operation.flops.value = flops;
  operation.columns = columns;
  operation.widths = std::move(widths);
  return operation;
}

/// Code for a narrow and a wide instruction set, and one entry.
Explanation makeExplanation(std::vector<PhaseOperation> operations) {
  Explanation explanation;
  explanation.compile.isas = {"narrow", "wide"};
  explanation.kernels = {{"narrow", "k", 6, 16, {}}, {"wide", "k", 14, 32, {}}};
  explanation.entries.emplace_back().phases.emplace_back().operations =
      std::move(operations);
  return explanation;
}

TEST(UnusedColumns, tilesOfTheInstructionSetCount) {
  const Explanation explanation =
      makeExplanation({makeOperation("kern.gemm", 400, 40, {40})});
  const auto uses = findUnusedColumns(explanation, explanation.entries.front());
  ASSERT_EQ(uses.size(), 2u);
  // 64 columns for 40 are 640 operations, 240 unused; 48 are 480.
  EXPECT_EQ(uses[0].isa, "wide");
  EXPECT_DOUBLE_EQ(uses[0].share, 240.0 / 640);
  EXPECT_EQ(uses[0].operations.front().computed, 64);
  EXPECT_EQ(uses[0].operations.front().getBetterWidths(),
            "32 or 64 in place of 40");
  EXPECT_EQ(uses[1].isa, "narrow");
  EXPECT_DOUBLE_EQ(uses[1].share, 80.0 / 480);
}

TEST(UnusedColumns, headsAndSlicesAreFilledOneByOne) {
  // 3 heads with width 8 take 3 vectors with width 16; slices of 8 take 3 tiles
  // of 16 or 32.
  const Explanation explanation =
      makeExplanation({makeOperation("kern.attention", 240, 24, {8}),
                       makeOperation("kern.gemm", 240, 24, {8, 8, 8})});
  const auto uses = findUnusedColumns(explanation, explanation.entries.front());
  EXPECT_EQ(uses[1].isa, "narrow");
  EXPECT_DOUBLE_EQ(uses[1].share, 0.5);
  ASSERT_EQ(uses[0].operations.size(), 2u);
  EXPECT_EQ(uses[0].operations[0].describe(),
            "product detail, 24 of 96 columns used");
  EXPECT_EQ(uses[0].operations[1].describe(),
            "attention detail, 24 of 48 columns used");
  EXPECT_EQ(uses[0].operations[1].getBetterWidths(), "16 in place of 8");
}

TEST(UnusedColumns, fullTilesWasteNothing) {
  const Explanation explanation =
      makeExplanation({makeOperation("kern.gemm", 100, 64, {32, 32}),
                       makeOperation("kern.softmax", 100, 0, {})});
  for (const ColumnUse &use :
       findUnusedColumns(explanation, explanation.entries.front()))
    EXPECT_TRUE(use.share == 0 && use.operations.empty());
  EXPECT_NE(listUnusedColumns(explanation, explanation.entries.front())
                .find("Columns that wide computes and nothing uses: none"),
            std::string::npos);
}

} // namespace
