// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables that cannot be written.
#include "runtime/tokenizer/Tables.h"
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

/// Ids chosen so that all merges for "x" start at one slot: never quadratic.
TEST(TokenizerTablesWriter, MergesMadeToCollideAreRefused) {
  constexpr size_t merges = 3000, slots = 2 * merges;
  std::string vocabulary = "\"x\": 0", list;
  uint32_t id = 1;
  for (size_t i = 0; i < merges; ++i, ++id) {
    while (tokenizer::mergeHome(0, id, slots) != 7)
      ++id;
    std::string name = std::to_string(i);
    vocabulary += ", \"" + name + "\": " + std::to_string(id) + ", \"x" + name +
                  "\": " + std::to_string(1000000000 + i);
    list += (i ? ", \"x " : "\"x ") + name + "\"";
  }
  auto imported =
      importTokenizer(R"({"model": {"type": "BPE", "vocab": {)" + vocabulary +
                          R"(}, "merges": [)" + list + "]}}",
                      "t.json");
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().status, Status::Rejected);
  EXPECT_EQ(imported.error().message, "t.json: tokenizer tables with more than "
                                      "2048 merges in one run of slots");
}

} // namespace
} // namespace transom::test
