// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formula values in example calls.
#include "runtime/manifest/ExampleSizes.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

/// An encoder whose rows are the tokens without padding.
ManifestEntry makeEncoder() {
  ManifestEntry entry;
  entry.kind = EntryKind::Encode;
  ManifestRaggedBatch &ragged = entry.ragged.emplace_back();
  ragged.rows = "rows";
  ragged.keys = "keys";
  ragged.pairs = "pairs_of_rows";
  return entry;
}

ManifestEntry makeStep() {
  ManifestEntry entry = makeEncoder();
  entry.kind = EntryKind::Step;
  entry.ragged.front().sequences = true;
  entry.ragged.front().pairs.clear();
  return entry;
}

int64_t evaluate(const std::string &formula, const ManifestEntry &entry,
                 const ExampleSizes &sizes) {
  return evaluateExample(*Polynomial::parse(formula), entry, sizes)
      .value_or(-1);
}

TEST(ExampleSizes, stepsListNoTokens) {
  ManifestEntry entry = makeStep();
  entry.inputs.resize(3);
  entry.inputs[2].shape = {Polynomial::symbol("listed")};
  EXPECT_EQ(evaluate("7+listed", entry, {2, 1, 9}), 7);
}

TEST(ExampleSizes, memoryThatLastsFromCallToCall) {
  ManifestEntry entry = makeStep();
  entry.buffers = {{0, 64, ""}, {0, 128, "", true}, {0, 256, "", true}};
  EXPECT_EQ(getKeptBytes(entry), 384);
}

TEST(ExampleSizes, callsOfAnEncoderHaveNoPadding) {
  const ManifestEntry entry = makeEncoder();
  EXPECT_EQ(evaluate("rows", entry, {2, 100}), 200);
  EXPECT_EQ(evaluate("keys", entry, {2, 100}), 256); // whole panels of 32
  EXPECT_EQ(evaluate("pairs_of_rows", entry, {2, 100}), 20000);
  EXPECT_EQ(evaluate("batch*seq", entry, {2, 100}), 200);
  EXPECT_EQ(evaluate("parts", entry, {2, 100}), exampleWorkers);
}

TEST(ExampleSizes, stepsSeeThePast) {
  const ManifestEntry entry = makeStep();
  // Each of 2 sequences has 3 new tokens after 10; they see 11, 12 and 13.
  const ExampleSizes sizes{2, 3, 10};
  EXPECT_EQ(evaluate("rows", entry, sizes), 6);
  EXPECT_EQ(evaluate("pairs_of_rows", entry, sizes), 2 * (11 + 12 + 13));
  EXPECT_EQ(evaluate("pairs_of_rows_window_12", entry, sizes),
            2 * (11 + 12 + 12));
  EXPECT_EQ(evaluate("pairs_of_rows_source", entry, sizes), 2 * 3 * 13);
  EXPECT_EQ(evaluate("reads_of_rows", entry, sizes), 2 * 13);
  EXPECT_EQ(evaluate("reads_of_rows_window_4", entry, sizes), 2 * (4 + 2));
  EXPECT_EQ(evaluate("reads_of_rows_source", entry, sizes), 2 * 13);
}

TEST(ExampleSizes, callsFitTheModel) {
  Manifest manifest;
  manifest.symbols = {{"seq", 64}};
  for (const ExampleSizes &sizes : getExamples(manifest, makeEncoder()))
    EXPECT_LE(sizes.length, 64);
}

} // namespace
