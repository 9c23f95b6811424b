// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that Python's json.loads reads and JSON does not have.
#include "runtime/json/PythonNumbers.h"
#include "runtime/json/JsonParser.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace transom;

static std::string getError(const std::string &text) {
  Result<JsonDocument> json = parseJson(text, "f.json", JsonNumbers::Python);
  return json ? "parsed" : json.error().message;
}

TEST(PythonNumbers, constants_and_overflows_are_doubles) {
  const std::string text = "{\"NaN\": NaN, \"a\": [Infinity,-Infinity],\n"
                           " \"b\": 1e400, \"c\": -2.5E+999, \"d\": \"NaN\", "
                           "\"e\\\"\": 1e-999, \"f\": 7}";
  Result<JsonDocument> json = parseJson(text, "f.json", JsonNumbers::Python);
  ASSERT_TRUE(json) << json.error().message;
  const JsonValue root = json->root();
  EXPECT_TRUE(std::isnan(*root[0].asDouble()));
  EXPECT_EQ(*root[1][0].asDouble(), INFINITY);
  EXPECT_EQ(*root[1][1].asDouble(), -INFINITY);
  EXPECT_EQ(*root[2].asDouble(), INFINITY);
  EXPECT_EQ(*root[3].asDouble(), -INFINITY);
  EXPECT_EQ(*root[4].asString(), "NaN");
  EXPECT_EQ(*root[5].asDouble(), 0);
  EXPECT_EQ(*root[6].asInt(), 7);
  EXPECT_EQ(root[2].where(), "f.json:2:7: '/b'");
  EXPECT_EQ(root[1][1].asInt().error().message,
            "f.json:1:29: '/a/1': expected an integer, got a number");
}

TEST(PythonNumbers, integers_of_any_length_are_doubles) {
  const std::string text = "[1" + std::string(400, '0') + ", 12]";
  Result<JsonDocument> json = parseJson(text, "f.json", JsonNumbers::Python);
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(*json->root()[0].asDouble(), INFINITY);
  EXPECT_EQ(*json->root()[1].asInt(), 12);
}

TEST(PythonNumbers, other_words_are_rejected_as_in_python) {
  for (const char *word :
       {"nan", "inf", "-NaN", "+Infinity", "--Infinity", "Infinity1", "NaNs",
        "xNaN", "infinity", "01e999", "1e999.5", "-", "1.e999"})
    EXPECT_NE(getError("[" + std::string(word) + "]"), "parsed") << word;
  EXPECT_NE(getError("{NaN: 1}"), "parsed");
  EXPECT_NE(getError("[\"NaN"), "parsed");
}

TEST(PythonNumbers, strict_text_has_none) {
  EXPECT_EQ(parseJson("[NaN]", "f.json").error().message.substr(0, 11),
            "f.json:1:2:");
  std::string copy;
  EXPECT_TRUE(
      detail::replacePythonNumbers("[\"Infinity\", 1e3, \"\\\\\"]", copy)
          .empty());
  EXPECT_TRUE(copy.empty());
}
