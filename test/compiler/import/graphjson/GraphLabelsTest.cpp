// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Class names in graph.json: the resulting head, and the error for each output
// that does not fit them.
#include "test/compiler/import/Fixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

/// A folder with a graph for token embeddings [batch, seq, 8] as `x`.
struct LabelsFolder : ModelFolder {
  LabelsFolder(const std::string &labels, const std::string &output,
               const std::string &edge) {
    writeTensors({{"table", {8, 8}}, {"head", {3, 8}}}, "w.safetensors");
    write(
        "graph.json",
        R"({"transom": 1, "weights": ["w.safetensors"], "dims": {"batch": {}, "seq": {}},
 "inputs": [{"name": "input_ids", "dtype": "i64", "shape": ["batch", "seq"]},
            {"name": "attention_mask", "dtype": "i64", "shape": ["batch", "seq"], "mask_of": "input_ids"}],
 "nodes": [{"name": "x", "op": "embedding", "inputs": ["input_ids"], "attrs": {"table": "table"}},
           {"name": "visible", "op": "cast", "inputs": ["attention_mask"], "attrs": {"to": "bool"}},
           {"name": "tokens", "op": "linear", "inputs": ["x"], "attrs": {"weight": "head"}},
           {"name": "texts", "op": "pool", "inputs": ["tokens", "visible"], "attrs": {"kind": "mean"}}],
 "labels": )" +
            labels + R"(, "outputs": [{"name": ")" + output +
            R"(", "edge": ")" + edge + "\"}]}");
  }
};

TEST(GraphLabels, make_a_head) {
  const std::pair<const char *, const char *> heads[] = {
      {"texts", "sequence_classification"}, {"tokens", "token_classification"}};
  for (auto [edge, head] : heads) {
    LabelsFolder folder(R"(["a", "b", "c"])", "logits", edge);
    Imported result(folder.path);
    ASSERT_TRUE(result.module) << result.error.message;
    const std::string text = result.text();
    EXPECT_EQ(getCount(text, std::string("head = \"") + head + "\""), 1u);
    EXPECT_EQ(getCount(text, "labels = [\"a\", \"b\", \"c\"]"), 1u);
  }
}

TEST(GraphLabels, name_each_column_of_logits) {
  expectError(LabelsFolder(R"(["a", "b"])", "logits", "texts").path,
              Status::Rejected,
              {"'/labels'", "'labels' has 2 names", "[batch, 3]",
               "expected [batch, 2]"});
  expectError(LabelsFolder("[]", "logits", "texts").path, Status::Rejected,
              {"'labels' has 0 names"});
  expectError(LabelsFolder(R"(["a", "b", "c"])", "scores", "texts").path,
              Status::Rejected, {"no output of that name"});
  expectError(LabelsFolder("[1]", "logits", "texts").path, Status::Rejected,
              {"'/labels/0'"});
}

} // namespace
