// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbols get their meaning from their positions, not from their names.
#include "compiler/statistics/EntrySizes.h"
#include "compiler/driver/CompileModule.h"
#include "dialects/attn/Attn.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

/// Evaluates a formula for 3 sequences with 10 tokens.
std::optional<int64_t> evaluate(const std::string &function,
                                const std::string &formula) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  prepareContext(context);
  auto module = parseSourceString<ModuleOp>(function, &context);
  EXPECT_TRUE(module);
  auto entry = *module->getOps<func::FuncOp>().begin();
  return EntrySizes(entry).evaluate(*Polynomial::parse(formula), 3, 10);
}

TEST(EntrySizes, theFirstOfSeveralSizesIsTheBatch) {
  const std::string function = R"mlir(
    func.func @run(%x: tensor<?x?xf32, #attn.shape<[n, length]>>) {
      return
    })mlir";
  EXPECT_EQ(evaluate(function, "n*length*length"), 300);
  const std::string vector = R"mlir(
    func.func @run(%x: tensor<?x8xf32, #attn.shape<[n, 8]>>) { return })mlir";
  EXPECT_EQ(evaluate(vector, "n"), 10);
}

TEST(EntrySizes, pairsOfAStepAreCausal) {
  const std::string function = R"mlir(
    func.func @step(%x: tensor<?xi64, #attn.shape<[r]>>,
                    %y: tensor<?xi64, #attn.shape<[w]>>) {
      %0 = attn.decode_batch : !attn.ragged<r, k>
      return
    })mlir";
  EXPECT_EQ(evaluate(function, "r"), 30);
  EXPECT_EQ(evaluate(function, "w"), 3);
  EXPECT_EQ(evaluate(function, "pairs_of_r"), 3 * 55);
  // Windows of 4: 1 + 2 + 3 + 4 * 7.
  EXPECT_EQ(evaluate(function, "pairs_of_r_window_4"), 3 * 34);
  EXPECT_EQ(evaluate(function, "pairs_of_r_source"), 300);
}

} // namespace
