// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotary frequencies.
#include "test/compiler/import/graphjson/GraphFixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

/// A graph that rotates x by positions with these attributes.
std::string rotate(const std::string &attributes) {
  return graph(
      R"({"name": "p", "op": "position", "inputs": ["ids"]},
         {"name": "r", "op": "rotation", "inputs": ["p"], "attrs": {"positions": 16, )" +
          attributes + R"(}},
         {"name": "y", "op": "rotary", "inputs": ["x", "r"], "attrs": {"heads": 2}})",
      "\"y\"");
}

TEST(GraphRope, has_the_frequencies_of_its_width) {
  ModelFolder folder;
  folder.write("graph.json", rotate("\"width\": 4, \"theta\": 100"));
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  std::string text = result.text();
  EXPECT_EQ(getCount(text, "array<f64: 1.000000e+00, 1.000000e-01>"), 1u);
  EXPECT_EQ(getCount(text, "attn.rope "), 1u);
}

TEST(GraphRope, takes_a_width_or_frequencies) {
  const std::string expected = "op 'rotation' needs 'width' or 'frequencies'";
  expectGraphError(rotate("\"factor\": 1"), Status::Rejected, {expected});
  expectGraphError(rotate("\"width\": 4, \"frequencies\": [1]"),
                   Status::Rejected, {expected});
}

TEST(GraphRope, an_odd_width_is_refused) {
  expectGraphError(rotate("\"width\": 3"), Status::Rejected,
                   {"needs an even 'width'"});
}

} // namespace
