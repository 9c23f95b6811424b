// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries with bounded sizes: what needs a value before the call cannot use
// them.
#include "runtime/execute/Entry.h"
#include <gtest/gtest.h>

using namespace transom;

static Polynomial poly(const char *text) { return *Polynomial::parse(text); }

/// An entry x [rows, 4] to y [rows, 4] with the size `routed`.
static ManifestEntry makeEntry() {
  ManifestEntry entry;
  entry.name = "run";
  entry.symbolOrder = {"routed", "rows"};
  entry.inputs = {{"x", DType::F32, {poly("rows"), 4}, "data", {}, {}}};
  entry.outputs = {{"y", DType::F32, {poly("rows"), 4}, "", {}, {}}};
  entry.boundedSizes = {{"routed", poly("2*rows")}};
  entry.buffers = {{0, poly("32*rows"), ""}};
  entry.arenaBytes = poly("64*rows");
  return entry;
}

static std::string errorOf(const ManifestEntry &entry) {
  Manifest manifest;
  Result<Entry> made = Entry::create(manifest, entry, nullptr);
  return made ? "" : made.error().message;
}

TEST(Entry, has_bounded_sizes) {
  Manifest manifest;
  ManifestEntry source = makeEntry();
  Result<Entry> entry = Entry::create(manifest, source, nullptr);
  ASSERT_TRUE(entry) << entry.error().message;
  EXPECT_EQ(entry->kinds[0], SymbolKind::Written);
  EXPECT_EQ(entry->kinds[1], SymbolKind::Length);
}

TEST(Entry, needs_values_before_the_call) {
  const std::string expected =
      "entry 'run': has a size over a symbol that its inputs do not bind";
  ManifestEntry entry = makeEntry();
  entry.outputs[0].shape[0] = poly("routed");
  EXPECT_EQ(errorOf(entry), expected);
  entry = makeEntry();
  entry.arenaBytes = poly("64*routed");
  EXPECT_EQ(errorOf(entry), expected);
  entry = makeEntry();
  entry.buffers[0].offset = poly("routed");
  EXPECT_EQ(errorOf(entry), expected);
  entry = makeEntry();
  entry.boundedSizes[0].bound = poly("routed+1");
  EXPECT_EQ(errorOf(entry), expected);
}

TEST(Entry, defines_a_bounded_size_once) {
  ManifestEntry entry = makeEntry();
  entry.boundedSizes.push_back(entry.boundedSizes[0]);
  EXPECT_EQ(errorOf(entry),
            "entry 'run': a bounded size defines 'routed', which is not a "
            "symbol or is defined twice");
}
