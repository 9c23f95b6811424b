// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Module paths in locations and in fused locations.
#include "dialects/common/Location.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

class LocationTest : public ::testing::Test {
protected:
  Location at(StringRef path) {
    return makeLocation(&context, path, "config.json", "/hidden_size");
  }
  /// The module path after fusing operations at these paths.
  std::string fused(std::initializer_list<const char *> paths) {
    SmallVector<Location> locations;
    for (const char *path : paths)
      locations.push_back(at(path));
    return getModulePath(fuseLocations(&context, locations));
  }

  MLIRContext context;
};

TEST_F(LocationTest, HasAPathAndAnOrigin) {
  Location location = at("encoder.layer.0.output");
  EXPECT_TRUE(hasModulePath(location));
  EXPECT_EQ(getModulePath(location), "encoder.layer.0.output");
  EXPECT_EQ(getOrigin(location), "config.json: /hidden_size");
  EXPECT_EQ(getOrigin(makeLocation(&context, "a", "graph.json", "")),
            "graph.json");
}

TEST_F(LocationTest, OriginOfFusedLocationsIsTheFirst) {
  Location first = makeLocation(&context, "a", "graph.json", "/ops/0");
  Origin origin = findOrigin(fuseLocations(&context, {first, at("b")}));
  EXPECT_EQ(origin.file, "graph.json");
  EXPECT_EQ(origin.pointer, "/ops/0");
  EXPECT_EQ(findOrigin(UnknownLoc::get(&context)).file, "");
}

TEST_F(LocationTest, UnknownLocationsHaveNone) {
  EXPECT_FALSE(hasModulePath(UnknownLoc::get(&context)));
  EXPECT_EQ(getOrigin(UnknownLoc::get(&context)), "");
}

TEST_F(LocationTest, NumbersBecomeRanges) {
  EXPECT_EQ(fused({"layer.0.query", "layer.1.query", "layer.2.query"}),
            "layer.{0-2}.query");
  EXPECT_EQ(fused({"layer.5.query", "layer.0.query", "layer.1.query"}),
            "layer.{0-1,5}.query");
}

TEST_F(LocationTest, RangesMergeWithNumbers) {
  EXPECT_EQ(fused({"layer.{0-2}.query", "layer.3.query"}), "layer.{0-3}.query");
}

TEST_F(LocationTest, WordsBecomeAlternatives) {
  EXPECT_EQ(fused({"self.query", "self.key", "self.query"}),
            "self.{query,key}");
}

TEST_F(LocationTest, PathsOfDifferentLengthKeepTheirPrefix) {
  EXPECT_EQ(fused({"layer.0.attention.self", "layer.0.output"}), "layer.0");
  EXPECT_EQ(fused({"embeddings", "layer.0"}), "{embeddings,layer.0}");
}

TEST_F(LocationTest, FusingKeepsEachOriginOnce) {
  Location one = at("a.0"), two = at("a.1");
  auto both = cast<FusedLoc>(fuseLocations(&context, {one, two}));
  EXPECT_EQ(both.getLocations().size(), 1u);
}

} // namespace
