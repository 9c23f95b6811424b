// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formula values in calls with padding.
#include "compiler/explain/ExampleCalls.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

using Lengths = std::vector<int64_t>;

/// A model with one entry that takes ids [batch, seq]; with a mask, padding is
/// omitted.
Manifest makeManifest(const char *mask) {
  Manifest manifest;
  manifest.symbols = {{"batch", {}}, {"seq", 100}};
  ManifestEntry &entry = manifest.entries.emplace_back();
  entry.name = "encode";
  entry.kind = EntryKind::Encode;
  entry.inputs.emplace_back().shape = {*Polynomial::parse("batch"),
                                       *Polynomial::parse("seq")};
  ManifestRaggedBatch &ragged = entry.ragged.emplace_back();
  ragged.mask = mask;
  ragged.rows = "rows";
  ragged.keys = "keys";
  ragged.pairs = "pairs_of_rows";
  return manifest;
}

int64_t evaluate(const Manifest &manifest, const char *formula) {
  return ExampleCalls(manifest, manifest.entries.front())
      .evaluate(*Polynomial::parse(formula), {100, 25})
      .value_or(-1);
}

TEST(ExampleCalls, tokensAloneAreRowsWhereThereIsAMask) {
  const Manifest manifest = makeManifest("attention_mask");
  EXPECT_EQ(evaluate(manifest, "rows"), 125);
  EXPECT_EQ(evaluate(manifest, "pairs_of_rows"), 10000 + 625);
  EXPECT_EQ(evaluate(manifest, "keys"), 128 + 32); // whole panels with 32 keys
  EXPECT_EQ(evaluate(manifest, "3*batch"), 6);
  EXPECT_EQ(evaluate(manifest, "batch*seq"), 200);
}

TEST(ExampleCalls, withoutAMaskPaddingIsRows) {
  const Manifest manifest = makeManifest("");
  EXPECT_EQ(evaluate(manifest, "rows"), 200);
  EXPECT_EQ(evaluate(manifest, "pairs_of_rows"), 20000);
}

TEST(ExampleCalls, whatPaddingCosts) {
  for (const auto &[formula, whole, alone] :
       {std::make_tuple("10*rows", 1250, 1250),
        std::make_tuple("10*batch*seq", 2000, 1250)}) {
    const Manifest manifest = makeManifest("attention_mask");
    ExplainedEntry entry;
    entry.flops.formula = formula;
    entry.arenaBytes.formula = "4*rows";
    ExplainedPhase &phase = entry.phases.emplace_back();
    phase.runs = 3;
    phase.bytes.formula = "rows";
    phase.weightBytes = 1000;
    ExampleCalls(manifest, manifest.entries.front()).set(entry);
    EXPECT_EQ(entry.example.length, 100);
    ASSERT_TRUE(entry.padded);
    EXPECT_EQ(entry.padded->lengths, (Lengths{100, 25}));
    EXPECT_EQ(entry.padded->flops, whole);
    EXPECT_EQ(entry.padded->flopsAlone, alone);
    EXPECT_EQ(entry.padded->bytes, 3 * (125 + 1000));
    EXPECT_EQ(entry.padded->arenaBytes, 500);
  }
}

TEST(ExampleCalls, entriesWithoutBatchesOfSequencesHaveNoPadding) {
  Manifest images = makeManifest("");
  images.entries.front().inputs.front().shape = {*Polynomial::parse("batch"),
                                                 *Polynomial::parse("3")};
  Manifest steps = makeManifest("");
  steps.entries.front().kind = EntryKind::Step;
  for (const Manifest &manifest : {images, steps})
    EXPECT_EQ(
        ExampleCalls(manifest, manifest.entries.front()).getPaddedLengths(),
        Lengths());
}

} // namespace
