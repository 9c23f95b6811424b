// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands and attributes of an operation.
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
      Status::Rejected, {"factor"});
}

TEST(GraphCallErrors, number_of_inputs) {
  expectGraphError(
      graph(R"({"name": "a", "op": "add", "inputs": ["x"]})", "\"a\""),
      Status::Rejected, {"'add' expects 2 inputs, got 1"});
}

} // namespace
