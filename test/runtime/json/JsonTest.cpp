// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON values, their getters and errors.
#include "test/runtime/json/ParseFixture.h"
#include <cmath>

using namespace transom;
using namespace transom::test;

TEST(Json, scalars) {
  JsonDocument d = parse(
      R"([null, true, false, -5, 9223372036854775807, 18446744073709551615,
          1.5, 1e2, "a\u00e9\n\ud83d\ude00", -9223372036854775808, -0, 1.0])");
  JsonValue a = d.root();
  ASSERT_EQ(a.size(), 12u);
  EXPECT_TRUE(a[0].isNull());
  EXPECT_TRUE(*a[1].asBool());
  EXPECT_FALSE(*a[2].asBool());
  EXPECT_EQ(*a[3].asInt(), -5);
  EXPECT_EQ(*a[4].asInt(), INT64_MAX);
  EXPECT_EQ(a[5].kind(), JsonValue::Kind::Uint64);
  EXPECT_EQ(*a[5].asUint(), UINT64_MAX);
  EXPECT_EQ(*a[6].asDouble(), 1.5);
  EXPECT_EQ(*a[7].asDouble(), 100);
  EXPECT_FALSE(a[7].isInteger());
  EXPECT_EQ(*a[8].asString(), "a\xC3\xA9\n\xF0\x9F\x98\x80");
  EXPECT_EQ(*a[9].asInt(), INT64_MIN);
  EXPECT_EQ(*a[10].asInt(), 0);
  EXPECT_EQ(a[11].kind(), JsonValue::Kind::Double);
}

TEST(Json, getters_name_place_and_both_kinds) {
  JsonDocument d = parse("{\n  \"a\": {\"b/c~\": [1, \"x\"]},\n"
                         "  \"n\": 18446744073709551615, \"m\": -1}");
  JsonValue list = *d.root().find("a")->find("b/c~");
  EXPECT_EQ(list[1].pointer(), "/a/b~1c~0/1");
  EXPECT_EQ(list[1].line(), 2u);
  EXPECT_EQ(list[1].column(), 21u);
  EXPECT_EQ(getError(list[1].asInt()),
            "f.json:2:21: '/a/b~1c~0/1': expected an integer, got a string");
  EXPECT_EQ(getError(list[0].asString()),
            "f.json:2:18: '/a/b~1c~0/0': expected a string, got an integer");
  EXPECT_EQ(getError(list.asBool()),
            "f.json:2:17: '/a/b~1c~0': expected a boolean, got an array");
  EXPECT_EQ(getError(d.root().asDouble()),
            "f.json:1:1: expected a number, got an object");
  EXPECT_EQ(getError(d.root().get("x")), "f.json:1:1: missing key 'x'");
  EXPECT_EQ(getError(d.root().find("n")->asInt()),
            "f.json:3:8: '/n': integer 18446744073709551615 is over the limit "
            "of 9223372036854775807");
  EXPECT_EQ(getError(d.root().find("m")->asUint()),
            "f.json:3:35: '/m': expected a non-negative integer, got -1");
  EXPECT_EQ(getError(d.root().find("m")->asInt(0, 7)),
            "f.json:3:35: '/m': expected an integer from 0 to 7, got -1");
  EXPECT_EQ(getError(list.asIntArray(0, 9)),
            "f.json:2:21: '/a/b~1c~0/1': expected an integer, got a string");
  EXPECT_EQ(getError(list.asStringArray()),
            "f.json:2:18: '/a/b~1c~0/0': expected a string, got an integer");
  EXPECT_EQ(getError(d.root().expectOnlyKeys({"a", "mm", "nn"})),
            "f.json:1:1: unknown key 'n'");
  EXPECT_EQ(getError(d.root().expectArray()),
            "f.json:1:1: expected an array, got an object");
  EXPECT_EQ(d.root().error("x", Status::Unsupported).status,
            Status::Unsupported);
}

TEST(Json, objects_keep_their_order_and_find_each_key) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i)
    text += (i ? ", " : "") + ("\"k" + std::to_string(i * 7919 % 1000)) +
            "\": " + std::to_string(i);
  JsonDocument d = parse(text + "}");
  int64_t i = 0;
  for (JsonValue::Member m : d.root().members()) {
    EXPECT_EQ(m.key, "k" + std::to_string(i * 7919 % 1000));
    EXPECT_EQ(m.key, m.value.key());
    EXPECT_EQ(*m.value.asInt(), i);
    EXPECT_EQ(*d.root().find(m.key)->asInt(), i);
    EXPECT_EQ(m.value.pointer(), "/" + std::string(m.key));
    ++i;
  }
  EXPECT_EQ(i, 1000);
  EXPECT_FALSE(d.root().find("k1000"));
  EXPECT_FALSE(d.root().find(""));
  EXPECT_EQ(d.root().elements().size(), 0u) << "an object has no elements";
}

TEST(Json, a_document_outlives_its_bytes_and_copies) {
  JsonDocument copy = parse("null");
  {
    std::string text = "{\"key\": [\"value\"]}";
    JsonDocument d = parse(text);
    text.assign(text.size(), 'x');
    copy = d;
  }
  EXPECT_EQ(*(*copy.root().find("key"))[0].asString(), "value");
}

TEST(Json, nested_structures) {
  JsonDocument d = parse("[[], {}, [[1], [2, [3]]], {\"a\": {\"a\": {}}}]");
  EXPECT_EQ(d.root().size(), 4u);
  EXPECT_EQ(d.root()[0].size(), 0u);
  EXPECT_EQ(*d.root()[2][1][1][0].asInt(), 3);
  EXPECT_EQ(d.root()[2][1][1][0].pointer(), "/2/1/1/0");
  EXPECT_EQ(d.root()[3].find("a")->find("a")->size(), 0u);
}

TEST(Json, a_document_made_from_another_file_names_its_origins) {
  JsonDocument d = parse(R"({"size": 4, "rope": {"type": "x", "base": 1}})");
  JsonDocument named =
      d.withOrigins({{"/size", "llama.length"}, {"/rope", "llama.rope"}});
  EXPECT_EQ(named.root().find("size")->error("is wrong").message,
            named.fileName() + ": 'llama.length': is wrong");
  EXPECT_EQ(named.root().find("rope")->find("base")->where(),
            named.fileName() + ": 'llama.rope'");
  EXPECT_EQ(named.root().where(), named.fileName());
  EXPECT_EQ(*named.root().find("size")->asInt(), 4);
  EXPECT_NE(d.root().find("size")->where(), named.root().find("size")->where());
}
