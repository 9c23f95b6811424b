// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON reader's values, places and errors, and the writer.
#include "runtime/json/Json.h"
#include "test/runtime/base/TestSupport.h"
#include <chrono>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

JsonDocument parse(std::string_view text) {
  Result<JsonDocument> json = parseJson(text, "f.json");
  EXPECT_TRUE(json) << (json ? "" : json.error().message);
  return json ? *json : *parseJson("null", "failed");
}

std::string parseError(std::string_view text) {
  Result<JsonDocument> json = parseJson(text, "f.json");
  if (json)
    return "parsed";
  EXPECT_EQ(json.error().status, Status::Rejected);
  return json.error().message;
}

template <typename T> std::string errorOf(const Result<T> &result) {
  return result ? "no error" : result.error().message;
}

} // namespace

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
  EXPECT_EQ(errorOf(list[1].asInt()),
            "f.json:2:21: '/a/b~1c~0/1': expected an integer, got a string");
  EXPECT_EQ(errorOf(list[0].asString()),
            "f.json:2:18: '/a/b~1c~0/0': expected a string, got an integer");
  EXPECT_EQ(errorOf(list.asBool()),
            "f.json:2:17: '/a/b~1c~0': expected a boolean, got an array");
  EXPECT_EQ(errorOf(d.root().asDouble()),
            "f.json:1:1: expected a number, got an object");
  EXPECT_EQ(errorOf(d.root().get("x")), "f.json:1:1: missing key 'x'");
  EXPECT_EQ(errorOf(d.root().find("n")->asInt()),
            "f.json:3:8: '/n': integer 18446744073709551615 is over the limit "
            "of 9223372036854775807");
  EXPECT_EQ(errorOf(d.root().find("m")->asUint()),
            "f.json:3:35: '/m': expected a non-negative integer, got -1");
  EXPECT_EQ(errorOf(d.root().find("m")->asInt(0, 7)),
            "f.json:3:35: '/m': expected an integer from 0 to 7, got -1");
  EXPECT_EQ(errorOf(list.asIntArray(0, 9)),
            "f.json:2:21: '/a/b~1c~0/1': expected an integer, got a string");
  EXPECT_EQ(errorOf(list.asStringArray()),
            "f.json:2:18: '/a/b~1c~0/0': expected a string, got an integer");
  EXPECT_EQ(errorOf(d.root().expectOnlyKeys({"a", "mm", "nn"})),
            "f.json:1:1: unknown key 'n'; did you mean 'nn'?");
  EXPECT_EQ(errorOf(d.root().expectArray()),
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

TEST(Json, duplicate_keys_are_rejected) {
  EXPECT_EQ(parseError("{\"a\": 1, \"b\": 2,\n \"a\": 3, \"b\": 4}"),
            "f.json:2:7: duplicate key 'a'");
  EXPECT_EQ(parseError("[{\"x\": {\"a\": 1, \"\\u0061\": 2}}]"),
            "f.json:1:27: '/0/x': duplicate key 'a'");
  EXPECT_EQ(parseError("{\"a\": {\"b\": 1}, \"b\": {\"a\": 1}}"), "parsed");
}

TEST(Json, depth_is_limited) {
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

TEST(Json, integers_are_exact) {
  EXPECT_EQ(parseError("[1, 18446744073709551616]"),
            "f.json:1:5: '/1': integer '18446744073709551616' does not fit 64 "
            "bits");
  EXPECT_EQ(parseError("{\"a\": -9223372036854775809}"),
            "f.json:1:7: '/a': integer '-9223372036854775809' does not fit 64 "
            "bits");
  EXPECT_EQ(parseError("1e999"),
            "f.json:1:1: number is out of the range of a double");
}

TEST(Json, malformed_text_is_rejected_at_its_place) {
  EXPECT_EQ(parseError("{\"a\": 1,\n\"b\" 2}"),
            "f.json:2:5: '/b': unexpected number literal; expected ':'");
  EXPECT_EQ(parseError("[1,,2]").substr(0, 24), "f.json:1:4: '/1': unexpe");
  EXPECT_EQ(parseError("").substr(0, 36),
            "f.json:1:1: unexpected end of input;");
  EXPECT_EQ(parseError("[1, 2").substr(0, 40),
            "f.json:1:6: '/2': unexpected end of inpu");
  EXPECT_EQ(parseError("[1] x").substr(0, 11), "f.json:1:5:");
  EXPECT_EQ(parseError("[1]]").substr(0, 11), "f.json:1:4:");
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

TEST(Json, odd_bytes_are_rejected) {
  EXPECT_EQ(parseError("\xEF\xBB\xBF{}"),
            "f.json:1:1: begins with a byte order mark; expected a value");
  EXPECT_EQ(parseError(std::string_view("{}\0{}", 5)),
            "f.json:1:3: unexpected NUL byte");
  EXPECT_EQ(parseError("[\n \"\xC0\xAF\"]"), "f.json:2:3: invalid UTF-8");
  EXPECT_EQ(parseError("\"\xED\xA0\x80\""), "f.json:1:2: invalid UTF-8");
}

TEST(Json, errors_are_one_short_line) {
  std::string key(100000, 'k');
  for (const std::string &text :
       {"{\"" + key + "\": [1", "[\"" + key, std::string("{\"a\\nb\": [}"),
        "{\"" + key + "\":1,\"" + key + "\":2}", "[" + key + "]"}) {
    std::string error = parseError(text);
    EXPECT_LT(error.size(), 500u);
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(Json, oversized_text_is_refused_by_its_size) {
  // The bytes are never read: only the size counts.
  std::string_view huge("x", jsonMaxBytes + 1);
  EXPECT_EQ(parseError(huge), "f.json: JSON of 268435457 bytes is over the "
                              "limit of 268435456");
}

TEST(Json, files_that_are_missing_are_unavailable) {
  Result<JsonDocument> json = parseJsonFile("/nonexistent/x.json");
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().status, Status::Unavailable);
  EXPECT_EQ(json.error().message,
            "cannot open '/nonexistent/x.json': no such file or directory");
}

// The size of a large tokenizer: half a million entries.
TEST(Json, large_vocabularies_parse_quickly) {
  std::string text = "{\"model\": {\"vocab\": {";
  for (int i = 0; i < 300000; ++i)
    text += (i ? ",\n\"token" : "\"token") + std::to_string(i * 2654435761u) +
            "\\u00e9\": " + std::to_string(i);
  text += "}, \"merges\": [";
  for (int i = 0; i < 200000; ++i)
    text += (i ? ",\n\"ab" : "\"ab") + std::to_string(i) + " cd\"";
  text += "]}}";
  auto start = std::chrono::steady_clock::now();
  JsonDocument d = parse(text);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  JsonValue vocab = *d.root().find("model")->find("vocab");
  EXPECT_EQ(vocab.size(), 300000u);
  EXPECT_EQ(
      *vocab.find("token" + std::to_string(77 * 2654435761u) + "\xC3\xA9")
           ->asInt(),
      77);
#if defined(NDEBUG) && !__has_feature(address_sanitizer) &&                    \
    !__has_feature(thread_sanitizer)
  EXPECT_LT(seconds.count(), 3.0) << text.size() << " bytes";
#endif
  RecordProperty("seconds", std::to_string(seconds.count()));
}

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
