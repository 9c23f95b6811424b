// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON writer against the reader.
#include "test/runtime/json/ParseFixture.h"
#include <cmath>
#include <cstring>

using namespace transom;
using namespace transom::test;

TEST(JsonWriter, writes_compact_and_indented) {
  auto write = [](unsigned indent) {
    std::string out;
    JsonWriter json(out, indent);
    json.beginObject();
    json.member("a", 1);
    json.key("b");
    json.beginArray();
    json.value(true);
    json.null();
    json.value("x\"\\\n\x01\xC3\xA9\xFF");
    json.endArray();
    json.key("c");
    json.beginObject();
    json.endObject();
    json.key("d");
    json.array(std::vector<int64_t>{INT64_MIN, 2});
    json.member("e", UINT64_MAX);
    json.endObject();
    return out;
  };
  EXPECT_EQ(write(0), "{\"a\":1,\"b\":[true,null,\"x\\\"\\\\\\n\\u0001\xC3\xA9"
                      "\xEF\xBF\xBD\"],\"c\":{},\"d\":[-9223372036854775808,2],"
                      "\"e\":18446744073709551615}");
  EXPECT_EQ(write(2).substr(0, 33),
            "{\n  \"a\": 1,\n  \"b\": [\n    true,\n  ");
  EXPECT_NE(write(2).find("\"c\": {},\n"), std::string::npos);
}

TEST(JsonWriter, numbers_round_trip) {
  Random random(3);
  for (int i = 0; i < 20000; ++i) {
    uint64_t bits = random.next();
    double number;
    std::memcpy(&number, &bits, 8);
    float single;
    std::memcpy(&single, &bits, 4);
    std::string out;
    JsonWriter json(out);
    json.beginArray();
    json.value(number);
    json.value(single);
    json.endArray();
    JsonDocument d = parse(out);
    if (std::isfinite(number))
      ASSERT_EQ(*d.root()[0].asDouble(), number) << out;
    else
      ASSERT_TRUE(d.root()[0].isNull());
    if (std::isfinite(single))
      ASSERT_EQ(static_cast<float>(*d.root()[1].asDouble()), single) << out;
  }
  std::string out;
  JsonWriter json(out);
  json.value(0.1f);
  EXPECT_EQ(out, "0.1");
  out.clear();
  JsonWriter(out).value(2.0);
  EXPECT_EQ(out, "2.0") << "a real number reads back as one";
}

TEST(JsonWriter, strings_round_trip) {
  std::string text;
  for (int c = 0; c < 128; ++c)
    text += static_cast<char>(c);
  text += "\xE2\x80\xA8\xF0\x9F\x98\x80";
  std::string out;
  JsonWriter(out).value(text);
  EXPECT_EQ(*parse(out).root().asString(), text);
}
