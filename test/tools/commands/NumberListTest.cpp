// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/commands/NumberList.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::tools;

using Numbers = std::vector<int64_t>;

TEST(NumberList, NumbersAreAscendingAndOnce) {
  for (const auto &[text, expected] :
       std::vector<std::pair<std::string, Numbers>>{{"", {}},
                                                    {"7", {7}},
                                                    {"0,2-5", {0, 2, 3, 4, 5}},
                                                    {"3,1,3,0-1", {0, 1, 3}},
                                                    {"4-4", {4}},
                                                    {"999999", {999999}}}) {
    Result<Numbers> numbers = parseNumberList("--layers", text);
    ASSERT_TRUE(numbers) << text;
    EXPECT_EQ(*numbers, expected) << text;
  }
}

TEST(NumberList, AnythingElseIsWrong) {
  for (const char *text : {"x", "-1", "1-", "1,", ",1", "1,,2", "5-2", "1-2-3",
                           " 1", "1000000", "0-1000000", "+1", "1.5"}) {
    Result<Numbers> numbers = parseNumberList("--layers", text);
    ASSERT_FALSE(numbers) << text;
    EXPECT_EQ(numbers.error().status, Status::Usage);
    EXPECT_EQ(numbers.error().message.find("'--layers': '"), 0u);
  }
}

TEST(NumberList, LayersKeepTheirOrder) {
  for (const auto &[text, expected] :
       std::vector<std::pair<std::string, Numbers>>{
           {"", {}}, {"0,-1", {0, -1}}, {"4,2,-12,2", {4, 2, -12, 2}}}) {
    Result<Numbers> numbers = parseLayerList("--layers", text);
    ASSERT_TRUE(numbers) << text;
    EXPECT_EQ(*numbers, expected) << text;
  }
  for (const char *text : {"x", "-", "1,", ",1", "1--2", "--1", "1-2", " 1",
                           "1000000", "-1000000"}) {
    Result<Numbers> numbers = parseLayerList("--layers", text);
    ASSERT_FALSE(numbers) << text;
    EXPECT_EQ(numbers.error().status, Status::Usage);
    EXPECT_EQ(numbers.error().message.find("'--layers': '"), 0u);
  }
}
