// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `inspect` on a graph: a decoder is detected by its sequences, not by its
// entry name.
#include "test/compiler/inspect/InspectGraph.h"
#include <gtest/gtest.h>

using namespace transom::test;

namespace {

TEST(InspectModel, anEntryNamedStepIsNoDecoder) {
  auto report = inspectGraph(R"json({
    "transom": 1, "name": "graph", "entry": "step", "dims": {"n": {}},
    "inputs": [{"name": "x", "dtype": "f32", "shape": ["n", 4]}],
    "nodes": [{"name": "y", "op": "relu", "inputs": ["x"]}],
    "outputs": ["y"]})json");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_NE(report->text.find("entry step"), std::string::npos);
  EXPECT_EQ(report->text.find("vocabulary"), std::string::npos) << report->text;
  EXPECT_EQ(report->json.find("\"costs\""), std::string::npos) << report->json;
}

} // namespace
