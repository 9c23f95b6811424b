// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Model names in bench tables.
#include "tools/commands/bench/BenchReport.h"
#include <gtest/gtest.h>

using namespace transom::tools;

namespace {

/// A one-row table with a one-line profile, whose names would change a
/// terminal's state.
BenchTable makeTable() {
  BenchTable table;
  BenchRow row;
  row.entry = "en\x1b[31mcode";
  row.times.min = row.times.median = 1;
  table.rows.push_back(row);
  ProfileLine line;
  line.location = "layer\x07.0,a\nb";
  line.phase = "phase\r0";
  table.profiles.push_back({line});
  return table;
}

bool hasControls(const std::string &text) {
  for (char c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f)
      return true;
  return false;
}

TEST(BenchReport, markdown_escapes_control_characters) {
  const std::string text = makeTable().markdown();
  EXPECT_FALSE(hasControls(text)) << text;
  EXPECT_NE(text.find("| en\\x1b[31mcode |"), std::string::npos) << text;
  EXPECT_NE(text.find("| layer\\x07.0,a\\nb | phase\\r0 |"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\nen\\x1b[31mcode 0x0, "), std::string::npos) << text;
}

TEST(BenchReport, csv_escapes_control_characters) {
  const std::string text = makeTable().csv();
  EXPECT_FALSE(hasControls(text)) << text;
  EXPECT_NE(text.find("\nen\\x1b[31mcode,"), std::string::npos) << text;
  EXPECT_NE(text.find("\n\"layer\\x07.0,a\\nb\",phase\\r0,"), std::string::npos)
      << text;
}

TEST(BenchReport, json_keeps_names) {
  const std::string text = makeTable().json();
  EXPECT_NE(text.find("\"entry\": \"en\\u001b[31mcode\""), std::string::npos)
      << text;
}

} // namespace
