// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers, locations and tables in an explanation.
#include "tools/commands/explain/ExplainFormat.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::tools;

namespace {

TEST(ExplainFormat, countsHavePrefixes) {
  EXPECT_EQ(formatCount(0), "0");
  EXPECT_EQ(formatCount(999), "999");
  EXPECT_EQ(formatCount(1000), "1.0 k");
  EXPECT_EQ(formatCount(22'360'000'000), "22.4 G");
  EXPECT_EQ(formatCount(999'600), "1.0 M");
  EXPECT_EQ(formatCount(Amount{"x", {}}), "?");
}

TEST(ExplainFormat, layersAreSplitOff) {
  LayerPath path = splitLayer("encoder.layer.{0-2,5}.attention.{query,key}");
  EXPECT_EQ(path.rest, "attention.{query,key}");
  EXPECT_EQ(formatLayers(path.layers), "layers 0-2, 5");
  EXPECT_EQ(formatPlace("h.3.mlp"), "mlp, layer 3");
  EXPECT_EQ(formatPlace("layers.{0-1}"), "layers 0-1");
  EXPECT_EQ(formatPlace("embeddings.norm"), "embeddings.norm");
  EXPECT_EQ(formatPlace("a.{b.0.c,d}.e"), "a");
  EXPECT_EQ(formatPlace(""), "");
}

TEST(ExplainFormat, fusedPathsAreShort) {
  EXPECT_EQ(shortenPath("mlp.{dense,act}"), "mlp");
  EXPECT_EQ(shortenPath("{scores,out,sum}"), "sum");
  EXPECT_EQ(shortenPath("layer.{0-3,5}.mlp"), "layer.{0-3,5}.mlp");
  EXPECT_EQ(shortenPath(""), "");
}

TEST(ExplainFormat, pathsNameCommonModules) {
  EXPECT_TRUE(nameCommonModule("mlp.{dense,act}", "mlp.act"));
  EXPECT_TRUE(nameCommonModule("", ""));
  EXPECT_FALSE(nameCommonModule("mlp.{dense,act}", "mlp.norm"));
  EXPECT_FALSE(nameCommonModule("mlp", "mlp.act"));
}

TEST(ExplainFormat, modulesHaveTheirNumbers) {
  EXPECT_EQ(splitPath("encoder.layer.{0-3}.mlp"),
            (std::vector<std::string>{"encoder", "layer.{0-3}", "mlp"}));
  EXPECT_EQ(splitPath("0.mlp"), (std::vector<std::string>{"0", "mlp"}));
}

TEST(ExplainFormat, timesHaveUnits) {
  EXPECT_EQ(formatTime(0.0123), "12.3 us");
  EXPECT_EQ(formatTime(12.345), "12.35 ms");
  EXPECT_EQ(formatTime(1234.5), "1.23 s");
}

TEST(ExplainFormat, remarksOfLayersAreOneGroup) {
  std::vector<ExplainedRemark> remarks(3);
  for (size_t i = 0; i < 3; ++i) {
    remarks[i].message = i == 1 ? "other" : "same";
    remarks[i].place.location = "layer." + std::to_string(i) + ".mlp";
  }
  std::vector<RemarkGroup> groups =
      groupRemarks({&remarks[0], &remarks[1], &remarks[2]});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].getPlace(), "mlp, layers 0, 2");
  EXPECT_EQ(groups[0].count, 2u);
  EXPECT_EQ(groups[1].getPlace(), "mlp, layer 1");
}

TEST(ExplainFormat, pathsInRemarksOfLayersHaveARange) {
  std::vector<ExplainedRemark> remarks(2);
  for (size_t i = 0; i < 2; ++i) {
    const std::string layer = "h." + std::to_string(i);
    remarks[i].place.location = layer + ".attn";
    remarks[i].message = "read by '" + layer + ".debug'";
  }
  std::vector<RemarkGroup> groups = groupRemarks({&remarks[0], &remarks[1]});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].getMessage(), "read by 'h.{0-1}.debug'");
  EXPECT_EQ(groupRemarks({&remarks[1]})[0].getMessage(), "read by 'h.1.debug'");
}

TEST(ExplainFormat, tablesAlignAndWrap) {
  TextTable table("lrl");
  table.add({"a", "10", std::string(60, 'x') + " " + std::string(60, 'y')});
  table.add({"long", "5", "z"});
  EXPECT_EQ(table.str(), "  a     10  " + std::string(60, 'x') +
                             "\n            " + std::string(60, 'y') +
                             "\n  long   5  z\n");
}

} // namespace
