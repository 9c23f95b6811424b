// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text in deltas: the text that stop strings hold back, and where they end it.
#include "runtime/generate/StopStrings.h"
#include <gtest/gtest.h>

using namespace transom;

/// Feeds the deltas; returns the output for each, and "!" where a string was
/// found.
static std::string feedAll(StopStrings stops,
                           const std::vector<std::string> &deltas) {
  std::string told;
  for (const std::string &delta : deltas) {
    std::string out;
    const bool found = stops.feed(delta, out);
    told += out + (found ? "!" : "|");
    if (found)
      return told;
  }
  std::string rest;
  stops.flush(rest);
  return told + rest;
}

TEST(StopStrings, none_passes_everything) {
  EXPECT_EQ(feedAll(StopStrings({}), {"ab", "", "c"}), "ab||c|");
}

TEST(StopStrings, inside_a_delta) {
  EXPECT_EQ(feedAll(StopStrings({"stop"}), {"do not stop here"}), "do not !");
}

TEST(StopStrings, across_deltas) {
  EXPECT_EQ(
      feedAll(StopStrings({"\n\nUser:"}), {"yes", "\n", "\nUs", "er", ":"}),
      "yes||||!");
}

TEST(StopStrings, gives_back_what_was_none) {
  EXPECT_EQ(feedAll(StopStrings({"\n\nUser:"}), {"a\n", "\nUsb", "c"}),
            "a|\n\nUsb|c|");
  EXPECT_EQ(feedAll(StopStrings({"aab"}), {"a", "a", "a", "b"}), "||a|!");
  EXPECT_EQ(feedAll(StopStrings({"abc"}), {"xab"}), "x|ab");
}

TEST(StopStrings, the_first_of_several_ends) {
  EXPECT_EQ(feedAll(StopStrings({"world", "lo w"}), {"hello world"}), "hel!");
  EXPECT_EQ(feedAll(StopStrings({"bcd", "b"}), {"a", "bcd"}), "a|!");
}

TEST(StopStrings, characters_stay_whole) {
  EXPECT_EQ(feedAll(StopStrings({"\u00e9\u00e8"}), {"x\u00e9", "\u00ea"}),
            "x|\u00e9\u00ea|");
}
