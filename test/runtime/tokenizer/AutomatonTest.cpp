// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs whose bytes are damaged.
#include "runtime/tokenizer/Automaton.h"
#include "compiler/import/tokenizer/regex/Regex.h"
#include "runtime/tokenizer/Splitter.h"
#include <gtest/gtest.h>

namespace transom::tokenizer {
namespace {

/// A program with passes in both directions, and an atomic group.
std::string getProgram() {
  return *compileRegex("(?<=ab)c|a(?=b+c)|\\b(?>b|bc)d");
}

TEST(Automaton, ColumnsDependOnWhatIsAround) {
  const std::string program = getProgram(); // the automaton points into it
  auto automaton = Automaton::open(program);
  ASSERT_TRUE(automaton);
  EXPECT_TRUE(automaton->hasPasses());
  const Characters text = getCharacters("abcc");
  const std::vector<uint16_t> columns = automaton->getColumns(text, {0, 4});
  ASSERT_EQ(columns.size(), 5u);
  EXPECT_NE(columns[2], columns[3]); // only one is after "ab"
  const std::vector<uint16_t> part = automaton->getColumns(text, {1, 3});
  ASSERT_EQ(part.size(), 3u);
  EXPECT_NE(part[1], columns[2]); // the "a" before it is outside
}

TEST(Automaton, DamagedProgramsAreRefusedOrBounded) {
  const std::string program = getProgram();
  const Characters text = getCharacters("abc abd bd bcd abbc \u00e9");
  size_t opened = 0;
  for (size_t at = 0; at < program.size(); ++at)
    for (uint8_t flip : {0x01, 0x80, 0xFF}) {
      std::string damaged = program;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      auto splitter = Splitter::open(damaged);
      if (!splitter)
        continue;
      ++opened;
      size_t end = 0;
      for (const Cut &cut : splitter->find(text, {0, text.size()})) {
        ASSERT_EQ(cut.span.begin, end);
        end = cut.span.end;
      }
      ASSERT_EQ(end, text.size());
    }
  EXPECT_GT(opened, 100u);
  for (size_t size = 0; size < program.size(); ++size)
    EXPECT_FALSE(Automaton::open(std::string_view(program).substr(0, size)));
  EXPECT_FALSE(Automaton::open(program + '\0'));
}

} // namespace
} // namespace transom::tokenizer
