// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands and attributes in an operation.
#include "test/compiler/import/graphjson/GraphFixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

TEST(GraphCallErrors, unknown_dim) {
  expectGraphError(
      graph(
          R"({"name": "a", "op": "reshape", "inputs": ["x"], "attrs": {"shape": ["batch", "sek", 8]}})",
          "\"a\""),
      Status::Rejected, {"unknown dim 'sek'", "did you mean 'seq'"});
}

TEST(GraphCallErrors, unknown_attribute) {
  expectGraphError(
      graph(
          R"({"name": "a", "op": "scale", "inputs": ["x"], "attrs": {"factr": 2}})",
          "\"a\""),
      Status::Rejected,
      {"unknown attribute 'factr' of op 'scale'", "did you mean 'factor'?"});
  expectGraphError(
      graph(
          R"({"name": "a", "op": "scale", "inputs": ["x"], "attrs": {"by": 2}})",
          "\"a\""),
      Status::Rejected,
      {"unknown attribute 'by' of op 'scale'; supported: factor, offset"});
  expectGraphError(
      graph(
          R"({"name": "a", "op": "scale", "inputs": ["x"], "attrs": {"Factor": 2}})",
          "\"a\""),
      Status::Rejected, {"did you mean 'factor'?"});
  expectGraphError(
      graph(
          R"({"name": "a", "op": "relu", "inputs": ["x"], "attrs": {"by": 2}})",
          "\"a\""),
      Status::Rejected, {"unknown attribute 'by' of op 'relu'; it has none"});
}

TEST(GraphCallErrors, unknown_op) {
  for (auto [op, name] :
       {std::pair<const char *, const char *>{"MatMul", "matmul"},
        {"LayerNorm", "layer_norm"},
        {"SOFTMAX", "softmax"}})
    expectGraphError(
        graph(R"({"name": "a", "op": ")" + std::string(op) +
                  R"(", "inputs": ["x"]})",
              "\"a\""),
        Status::Unsupported,
        {"unknown op '" + std::string(op) + "'; did you mean '" + name + "'?"});
  expectGraphError(
      graph(R"({"name": "a", "op": "Convolution", "inputs": ["x"]})", "\"a\""),
      Status::Unsupported,
      {"unknown op 'Convolution'; supported: weight, constant, ", "attention"});
}

/// Returns the error for a node on scores [2, 3, seq, seq] and a mask.
static std::string expectMaskError(const std::string &op,
                                   const std::string &inputs,
                                   const std::string &dims,
                                   const std::string &attrs,
                                   const std::vector<std::string> &parts) {
  ModelFolder folder;
  folder.write("graph.json",
               R"({"transom": 1, "dims": {"batch": {}, "seq": {}}, "inputs": [
          {"name": "s", "dtype": "f32", "shape": ["batch", 3, "seq", "seq"]},
          {"name": "q", "dtype": "f32", "shape": ["batch", "seq", 6]},
          {"name": "m", "dtype": "bool", "shape": [)" +
                   dims + R"(]}], "nodes": [{"name": "a", "op": ")" + op +
                   R"(", "inputs": [)" + inputs + "], \"attrs\": {" + attrs +
                   R"(}}], "outputs": ["a"]})");
  Imported result(folder.path);
  EXPECT_FALSE(result.module);
  EXPECT_EQ(int(result.error.status), int(Status::Rejected));
  for (const std::string &part : parts)
    EXPECT_NE(result.error.message.find(part), std::string::npos)
        << part << " in " << result.error.message;
  // Constraint counts belong to the operation description.
  for (int i = 1; i < 20; ++i)
    EXPECT_EQ(result.error.message.find("(" + std::to_string(i) + ")"),
              std::string::npos)
        << result.error.message;
  return result.error.message;
}

TEST(GraphCallErrors, mask_names_the_reshape) {
  const std::string full = R"("batch", "seq", "seq")",
                    keys = R"("batch", "seq")";
  expectMaskError(
      "mask", R"("s", "m")", full, "",
      {"op expects a mask that broadcasts to [batch, 3, seq, seq], "
       "got [batch, seq, seq]; reshape it to [batch, 1, seq, seq]"});
  expectMaskError("mask", R"("s", "m")", keys, "",
                  {"reshape it to [batch, 1, 1, seq]"});
  expectMaskError("where", R"("m", "s", "s")", full, "",
                  {"reshape it to [batch, 1, seq, seq]"});
  expectMaskError(
      "attention", R"("q", "q", "q", "m")", full, "\"heads\": 3",
      {"op expects a mask that broadcasts to [batch, 3, seq, seq], "
       "got [batch, seq, seq]; reshape it to [batch, 1, seq, seq]"});
  // No reshape makes it fit.
  const std::string message = expectMaskError(
      "mask", R"("s", "m")", R"("batch", 5, "seq")", "", {"[batch, 5, seq]"});
  EXPECT_EQ(message.find("reshape"), std::string::npos) << message;
}

TEST(GraphCallErrors, number_of_inputs) {
  expectGraphError(
      graph(R"({"name": "a", "op": "add", "inputs": ["x"]})", "\"a\""),
      Status::Rejected, {"'add' expects 2 inputs, got 1"});
}

} // namespace
