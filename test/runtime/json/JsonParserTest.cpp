// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs that the JSON parser rejects, error positions, and the parser's speed.
#include "runtime/json/JsonParser.h"
#include "test/runtime/json/ParseFixture.h"
#include "test/support/TimeLimit.h"
#include <cmath>
#include <cstring>

using namespace transom;
using namespace transom::test;

TEST(JsonParser, duplicate_keys_are_rejected) {
  EXPECT_EQ(parseError("{\"a\": 1, \"b\": 2,\n \"a\": 3, \"b\": 4}"),
            "f.json:2:7: duplicate key 'a'");
  EXPECT_EQ(parseError("[{\"x\": {\"a\": 1, \"\\u0061\": 2}}]"),
            "f.json:1:27: '/0/x': duplicate key 'a'");
  EXPECT_EQ(parseError("{\"a\": {\"b\": 1}, \"b\": {\"a\": 1}}"), "parsed");
}

TEST(JsonParser, depth_is_limited) {
  auto nested = [](int depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(parseError(nested(64)), "parsed");
  std::string error = parseError(nested(65));
  EXPECT_NE(error.find("f.json:1:65:"), std::string::npos) << error;
  EXPECT_NE(error.find("nested deeper than the limit of 64 levels"),
            std::string::npos);
  EXPECT_NE(parseError(std::string(1000000, '[')).find("limit of 64"),
            std::string::npos);
}

TEST(JsonParser, integers_are_exact) {
  EXPECT_EQ(parseError("[1, 18446744073709551616]"),
            "f.json:1:5: '/1': integer '18446744073709551616' does not fit 64 "
            "bits");
  EXPECT_EQ(parseError("{\"a\": -9223372036854775809}"),
            "f.json:1:7: '/a': integer '-9223372036854775809' does not fit 64 "
            "bits");
  EXPECT_EQ(parseError("1e999"),
            "f.json:1:1: number is out of the range of a double");
}

TEST(JsonParser, python_rounds_large_integers) {
  auto json = parseJson("[1000000000000000019884624838656, 7, -2e3, "
                        "-18446744073709551616]",
                        "f.json", JsonNumbers::Python);
  ASSERT_TRUE(json) << json.error().message;
  JsonValue root = json->root();
  EXPECT_FALSE(root[0].isInteger());
  EXPECT_EQ(*root[0].asDouble(), 1e30);
  EXPECT_EQ(root[0].asInt().error().message,
            "f.json:1:2: '/0': the integer does not fit 64 bits");
  EXPECT_EQ(*root[1].asInt(), 7);
  EXPECT_EQ(*root[3].asDouble(), -18446744073709551616.0);
}

TEST(JsonParser, malformed_text_is_rejected_at_its_place) {
  EXPECT_EQ(parseError("{\"a\": 1,\n\"b\" 2}"),
            "f.json:2:5: '/b': unexpected number literal; expected ':'");
  EXPECT_EQ(parseError("[1,,2]").substr(0, 24), "f.json:1:4: '/1': unexpe");
  EXPECT_EQ(parseError("").substr(0, 36),
            "f.json:1:1: unexpected end of input;");
  EXPECT_EQ(parseError("[1, 2").substr(0, 40),
            "f.json:1:6: '/2': unexpected end of inpu");
  EXPECT_EQ(parseError("[1] x").substr(0, 11), "f.json:1:5:");
  EXPECT_EQ(parseError("[1]]").substr(0, 11), "f.json:1:4:");
  // These have no value in JSON.
  for (const char *text : {"{",
                           "[",
                           "\"",
                           "\"\\",
                           "\"\\u12",
                           "\"\\ud800\"",
                           "\"\\udc00x\"",
                           "\"\\x\"",
                           "\"a\nb\"",
                           "tru",
                           "nul",
                           "+1",
                           "01",
                           "1.",
                           ".5",
                           "1e",
                           "-",
                           "- 1",
                           "0x10",
                           "NaN",
                           "Infinity",
                           "-Infinity",
                           "'a'",
                           "{a: 1}",
                           "{\"a\" 1}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{1: 2}",
                           "// c\n1",
                           "/* c */ 1",
                           "1 // c",
                           "}",
                           "]",
                           ",",
                           ":",
                           "[}",
                           "{]",
                           "\x01",
                           "\"\x1f\"",
                           "[1]\x0c"})
    EXPECT_NE(parseError(text), "parsed") << text;
}

TEST(JsonParser, odd_bytes_are_rejected) {
  EXPECT_EQ(parseError("\xEF\xBB\xBF{}"),
            "f.json:1:1: begins with a byte order mark; expected a value");
  EXPECT_EQ(parseError(std::string_view("{}\0{}", 5)),
            "f.json:1:3: unexpected NUL byte");
  EXPECT_EQ(parseError("[\n \"\xC0\xAF\"]"), "f.json:2:3: invalid UTF-8");
  EXPECT_EQ(parseError("\"\xED\xA0\x80\""), "f.json:1:2: invalid UTF-8");
}

TEST(JsonParser, errors_are_one_short_line) {
  std::string key(100000, 'k');
  for (const std::string &text :
       {"{\"" + key + "\": [1", "[\"" + key, std::string("{\"a\\nb\": [}"),
        "{\"" + key + "\":1,\"" + key + "\":2}", "[" + key + "]"}) {
    std::string error = parseError(text);
    EXPECT_LT(error.size(), 500u);
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(JsonParser, oversized_text_is_refused_by_its_size) {
  // The bytes are never read: only the size counts.
  std::string_view huge("x", jsonMaxBytes + 1);
  EXPECT_EQ(parseError(huge), "f.json: JSON of 268435457 bytes is over the "
                              "limit of 268435456");
}

TEST(JsonParser, files_that_are_missing_are_unavailable) {
  Result<JsonDocument> json = parseJsonFile("/nonexistent/x.json");
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().status, Status::Unavailable);
  EXPECT_EQ(json.error().message,
            "cannot open '/nonexistent/x.json': no such file or directory");
}

// As large as a big tokenizer: half a million entries.
TEST(JsonParser, large_vocabularies_parse_quickly) {
  std::string text = "{\"model\": {\"vocab\": {";
  for (int i = 0; i < 300000; ++i)
    text += (i ? ",\n\"token" : "\"token") + std::to_string(i * 2654435761u) +
            "\\u00e9\": " + std::to_string(i);
  text += "}, \"merges\": [";
  for (int i = 0; i < 200000; ++i)
    text += (i ? ",\n\"ab" : "\"ab") + std::to_string(i) + " cd\"";
  text += "]}}";
  double start = processorSeconds();
  JsonDocument d = parse(text);
  double seconds = processorSeconds() - start;
  JsonValue vocab = *d.root().find("model")->find("vocab");
  EXPECT_EQ(vocab.size(), 300000u);
  EXPECT_EQ(
      *vocab.find("token" + std::to_string(77 * 2654435761u) + "\xC3\xA9")
           ->asInt(),
      77);
  expectSeconds(seconds, 3);
}
