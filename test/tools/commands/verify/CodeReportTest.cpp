// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verification reports: the error, the text, and the phases shown.
#include "tools/commands/verify/CodeReport.h"
#include "runtime/json/Json.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::tools;

static CodeReport makeReport() {
  CodeReport report;
  report.path = "m.so";
  report.name = "m";
  report.dtype = "f32";
  report.lacking = {"avx512"};
  CheckedEntry entry;
  entry.isa = "avx2";
  entry.entry = "encode";
  entry.calls = 1;
  entry.dispatches = 3;
  entry.numbers = 40;
  report.verification.entries = {entry};
  for (int i = 0; i < 12; ++i) {
    PhaseAccuracy phase;
    phase.isa = "avx2";
    phase.entry = "encode";
    phase.phase = "phase." + std::to_string(i);
    phase.buffer = "buffer 1";
    phase.relative = i == 5 ? 0.5 : 1e-7 * i;
    report.verification.accuracies.push_back(phase);
  }
  return report;
}

static CodeReport makeDifferentReport() {
  CodeReport report = makeReport();
  report.verification.entries[0].differences = 2;
  CodeDifference difference;
  difference.isa = "avx2";
  difference.entry = "encode";
  difference.call = "1 sequence of 1 token";
  difference.phase = "phase.1";
  difference.layer = 3;
  difference.operation = "kern.gemm";
  difference.location = "encoder.layer.{0-3}.mlp";
  difference.buffer = "buffer 1";
  difference.index = "[0, 2]";
  difference.expected = "0x00000000 (0)";
  difference.found = "0x80000000 (-0)";
  difference.count = 1;
  difference.numbers = 8;
  report.verification.differences = {difference};
  return report;
}

TEST(CodeReport, EqualBitsAreNoError) {
  CodeReport report = makeReport();
  EXPECT_TRUE(report.check());
  const std::string text = report.toText();
  EXPECT_NE(text.find("entry 'encode' on avx2: 1 call, 3 dispatches, 40 "
                      "numbers: equal bits\n"),
            std::string::npos);
  EXPECT_NE(text.find("not run: this CPU lacks avx512\n"), std::string::npos);
}

TEST(CodeReport, TextShowsTheLargestErrorsFirst) {
  const std::string text = makeReport().toText();
  EXPECT_NE(text.find("the largest 10 of 12"), std::string::npos);
  EXPECT_LT(text.find("'phase.5'"), text.find("'phase.11'"));
  EXPECT_EQ(text.find("'phase.0'"), std::string::npos);
}

TEST(CodeReport, ADifferenceIsAnErrorInOneLine) {
  CodeReport report = makeDifferentReport();
  Result<void> outcome = report.check();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().status, Status::CheckFailed);
  EXPECT_EQ(
      outcome.error().message,
      "'m.so': 2 dispatches leave other bits than their phases; first: entry "
      "'encode' on avx2, 1 sequence of 1 token: phase 'phase.1', layer 3: "
      "'kern.gemm' of encoder.layer.{0-3}.mlp leaves 0x80000000 (-0) in place "
      "of 0x00000000 (0) in buffer 1 at [0, 2] (1 of 8 differ)");
  EXPECT_NE(report.toText().find("other bits in 2 dispatches"),
            std::string::npos);
}

TEST(CodeReport, JsonHasAll) {
  Result<JsonDocument> document =
      parseJson(makeDifferentReport().toJson(), "report");
  ASSERT_TRUE(document) << document.error().message;
  const std::string text = makeDifferentReport().toJson();
  for (const char *expected :
       {R"("equal":false)", R"("layer":3)", R"("phase":"phase.11")",
        R"("not_run":["avx512"])"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected;
}
