// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layer for each run in a phase.
#include "tools/commands/bench/BenchTrace.h"
#include <gtest/gtest.h>

using namespace transom::tools;

namespace {

TEST(BenchTrace, theRunTellsTheLayer) {
  const RunLocation found = getRunLocation("layer.{0-2,5}.{query,key}", 3, 4);
  EXPECT_EQ(found.location, "layer.5.{query,key}");
  EXPECT_EQ(found.layer, 5);
  EXPECT_EQ(getRunLocation("layer.{0-2,5}.{query,key}", 1, 4).layer, 1);
  // The layer range need not come first.
  EXPECT_EQ(getRunLocation("{a,b}.{0-1}.w", 1, 2).location, "{a,b}.1.w");
}

TEST(BenchTrace, otherLocationsStay) {
  for (const char *location :
       {"", "pooler", "layer.{0-2}.x", "layer.{query,key}.x", "layer.{0-3",
        "layer.{}.x", "layer.{3-0}.x", "layer.{0-999999999999999999}.x",
        "layer.{0,}.x", "layer.{0-1-2}.x"}) {
    const RunLocation found = getRunLocation(location, 0, 4);
    EXPECT_EQ(found.location, location);
    EXPECT_FALSE(found.layer) << location;
  }
  EXPECT_FALSE(getRunLocation("layer.{4}.x", 0, 1).layer);
}

} // namespace
