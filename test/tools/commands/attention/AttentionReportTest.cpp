// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/commands/attention/AttentionReport.h"
#include "runtime/json/Json.h"
#include <gtest/gtest.h>
#include <limits>

using namespace transom;
using namespace transom::tools;

static AttentionReport makeReport() {
  AttentionGroup group;
  group.name = "encoder";
  group.layers = {3, 5};
  group.heads = {1};
  group.queries = {"a", "\"<b>"};
  group.keys = {"a", "b", "c"};
  group.weights = {0.1f, 0.2f, 0.7f, 1, 0, 0, 0.3f, 0.3f, 0.4f, 0, 0.5f, 0.5f};
  return {"model", {group}, std::nullopt};
}

static std::string getError(const AttentionReport &report) {
  Result<void> done = checkReport(report);
  return done ? "" : done.takeError().message;
}

TEST(AttentionReport, Check) {
  EXPECT_EQ(getError(makeReport()), "");
  EXPECT_EQ(getError({"model", {}, std::nullopt}),
            "there are no attention weights");

  AttentionReport report = makeReport();
  report.groups[0].weights.pop_back();
  EXPECT_EQ(getError(report),
            "attention 'encoder' has 11 weights in place of 12");
  for (auto drop : {&AttentionGroup::queries, &AttentionGroup::keys}) {
    report = makeReport();
    (report.groups[0].*drop).clear();
    EXPECT_EQ(getError(report), "attention 'encoder' has no weights");
  }
}

TEST(AttentionReport, RefusesWhatIsNoWeight) {
  for (float bad : {-0.1f, 1.1f, std::numeric_limits<float>::quiet_NaN(),
                    std::numeric_limits<float>::infinity()}) {
    AttentionReport report = makeReport();
    report.groups[0].weights[8] = bad;
    EXPECT_NE(getError(report).find("attention 'encoder', layer 5, head 1"),
              std::string::npos);
  }
}

TEST(AttentionReport, JsonIsExact) {
  const AttentionReport report = makeReport();
  std::string text;
  ASSERT_TRUE(writeJson(report, [&](std::string_view bytes) -> Result<void> {
    text += bytes;
    return {};
  }));
  EXPECT_EQ(text,
            R"({"model":"model","attention":[{"name":"encoder","layers":[3,5],)"
            R"("heads":[1],"queries":["a","\"<b>"],"keys":["a","b","c"],)"
            R"("weights":[[[[0.1,0.2,0.7],[1.0,0.0,0.0]]],)"
            R"([[[0.3,0.3,0.4],[0.0,0.5,0.5]]]]}]})"
            "\n");
}

TEST(AttentionReport, JsonHasTheAlignment) {
  AttentionReport report = makeReport();
  report.groups[0].layers = {3};
  report.groups[0].weights.resize(6);
  report.alignment = Alignment{{"a\"", "b"}, {"c"}, {{0, 0}, {1, 0}}};
  std::string text;
  ASSERT_TRUE(writeJson(report, [&](std::string_view bytes) -> Result<void> {
    text += bytes;
    return {};
  }));
  const std::string expected =
      R"(]]]]}],"alignments":{"source":["a\"","b"],"target":["c"],)"
      R"("pairs":[[0,0],[1,0]]}})"
      "\n";
  ASSERT_GT(text.size(), expected.size());
  EXPECT_EQ(text.substr(text.size() - expected.size()), expected);
}

TEST(AttentionReport, ErrorsOfTheOutputEndIt) {
  const AttentionReport report = makeReport();
  for (size_t allowed = 0; allowed < 6; ++allowed) {
    size_t calls = 0;
    const ByteSink sink = [&](std::string_view) -> Result<void> {
      if (calls++ == allowed)
        return unavailable("disk full");
      return {};
    };
    Result<void> done =
        allowed % 2 ? writeJson(report, sink) : writePage(report, sink);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.takeError().message, "disk full");
    EXPECT_EQ(calls, allowed + 1);
  }
}
