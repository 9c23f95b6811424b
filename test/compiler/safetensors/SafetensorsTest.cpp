// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The safetensors header reader: the error message for each rule.
#include "compiler/safetensors/Safetensors.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

/// The error for a header and data.
std::string headerError(const std::string &header, const std::string &data) {
  Result<SafetensorsHeader> parsed =
      parseSafetensors(safetensorsBytes(header, data), "m");
  EXPECT_TRUE(parsed || parsed.error().status == Status::Rejected);
  return getError(parsed);
}

} // namespace

TEST(Safetensors, reads_what_is_valid) {
  std::string header =
      "{\"__metadata__\":{\"format\":\"pt\"}," +
      safetensorsEntry("b", "F32", "[2]", "[4,12]") + "," +
      safetensorsEntry("a", "U8", "[2,2]", "[0,4]") + "," +
      safetensorsEntry("empty", "F64", "[0,5]", "[4,4]") + "," +
      safetensorsEntry("scalar", "F16", "[]", "[12,14]") + "}   ";
  Result<SafetensorsHeader> parsed =
      parseSafetensors(safetensorsBytes(header, std::string(14, 'x')), "m");
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->tensors.size(), 4u);
  EXPECT_EQ(parsed->tensors[0].name, "a");
  EXPECT_EQ(parsed->tensors[0].begin, 8 + header.size());
  EXPECT_EQ(parsed->tensors[1].name, "empty");
  EXPECT_EQ(parsed->tensors[2].name, "b");
  EXPECT_EQ(parsed->tensors[2].shape, std::vector<int64_t>{2});
  EXPECT_EQ(parsed->tensors[3].name, "scalar");
  EXPECT_EQ(parsed->metadata[0].second, "pt");
  EXPECT_EQ(headerError("{}", ""), "no error");
}

TEST(Safetensors, length_and_frame_of_the_header) {
  EXPECT_EQ(getError(parseSafetensors("1234567", "m")),
            "m: file of 7 bytes is too short for safetensors; expected at "
            "least 8");
  std::string huge("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
  EXPECT_EQ(getError(parseSafetensors(huge, "m")),
            "m: header length 18446744073709551615 is over the limit of "
            "100000000");
  std::string beyond = safetensorsBytes("{}", "");
  beyond[0] = 3;
  EXPECT_EQ(getError(parseSafetensors(beyond, "m")),
            "m: header length 3 reaches beyond the file, which has 2 bytes "
            "after the length");
  EXPECT_EQ(headerError("", ""), "m: header is empty; expected a JSON object");
  EXPECT_EQ(headerError(" {}", ""), "m: header begins with ' '; expected '{'");
  EXPECT_EQ(headerError("[]", ""), "m: header begins with '['; expected '{'");
  EXPECT_EQ(headerError("{}\n", ""),
            "m: header ends with '\\n'; expected only spaces after '}'");
  EXPECT_EQ(headerError("{} x", "").substr(0, 14), "m: header:1:4:");
}

TEST(Safetensors, entries_hold_exactly_three_keys) {
  EXPECT_EQ(headerError("{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", ""),
            "m: header:1:6: '/a': missing key 'data_offsets'");
  EXPECT_EQ(
      headerError("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,0]}}", ""),
      "m: header:1:6: '/a': missing key 'shape'");
  EXPECT_EQ(headerError("{\"a\":{}}", ""),
            "m: header:1:6: '/a': missing key 'dtype'");
  EXPECT_EQ(headerError("{\"a\":{\"dtype\":\"F32\",\"shape\":[],"
                        "\"data_offsets\":[0,4],\"x\":1}}",
                        "1234"),
            "m: header:1:6: '/a': unknown key 'x'");
  EXPECT_EQ(headerError("{\"a\":[]}", ""),
            "m: header:1:6: '/a': expected an object, got an array");
  EXPECT_EQ(headerError("{" + safetensorsEntry("a", "F32", "[1]", "[0,4]") +
                            "," + safetensorsEntry("a", "F32", "[1]", "[4,8]") +
                            "}",
                        "12345678"),
            "m: header:1:59: duplicate key 'a'");
  EXPECT_EQ(headerError("{\"__metadata__\":{\"a\":1}}", ""),
            "m: header:1:22: '/__metadata__/a': expected a string, got an "
            "integer");
  EXPECT_EQ(headerError("{\"__metadata__\":[]}", ""),
            "m: header:1:17: '/__metadata__': expected an object, got an "
            "array");
}

TEST(Safetensors, dtype_shape_and_offsets) {
  // Returns the error for one tensor.
  auto one = [](const std::string &dtype, const std::string &shape,
                const std::string &offsets) {
    return headerError("{" + safetensorsEntry("a", dtype, shape, offsets) + "}",
                       "1234");
  };
  // Types and shapes.
  EXPECT_EQ(one("F33", "[1]", "[0,4]").substr(0, 47),
            "m: tensor 'a': unknown dtype 'F33'; known: F32,");
  EXPECT_EQ(one("F32", "[-1]", "[0,4]"),
            "m: header:1:30: '/a/shape/0': expected an integer from 0 to "
            "9223372036854775807, got -1");
  EXPECT_EQ(one("F32", "[1.0]", "[0,4]"),
            "m: header:1:30: '/a/shape/0': expected an integer, got a number");
  EXPECT_EQ(one("F32", "7", "[0,4]"), "m: header:1:29: '/a/shape': expected an "
                                      "array of integers, got an integer");
  // Offsets, and sizes that do not match them.
  EXPECT_EQ(one("F32", "[1]", "[0]"),
            "m: tensor 'a': data_offsets has 1 numbers; expected 2");
  EXPECT_EQ(one("F32", "[1]", "[0,4,4]"),
            "m: tensor 'a': data_offsets has 3 numbers; expected 2");
  EXPECT_EQ(one("F32", "[1]", "[4,0]"),
            "m: tensor 'a': data_offsets [4, 0] end before they begin");
  EXPECT_EQ(one("F32", "[2]", "[0,8]"),
            "m: tensor 'a': data_offsets [0, 8] reach beyond the 4 bytes of "
            "data in the file");
  EXPECT_EQ(one("F32", "[2]", "[0,4]"),
            "m: tensor 'a': shape [2] of F32 takes 8 bytes, data_offsets [0, "
            "4] hold 4");
  EXPECT_EQ(one("F32", "[4611686018427387904, 4]", "[0,4]"),
            "m: tensor 'a': shape [4611686018427387904, 4] of F32 has no size "
            "of whole bytes within 64 bits");
  EXPECT_EQ(one("F4", "[3]", "[0,4]"), "m: tensor 'a': shape [3] of F4 has no "
                                       "size of whole bytes within 64 bits");
  EXPECT_NE(one("F32", "[1]", "[0,18446744073709551615]"), "no error");
}

TEST(Safetensors, tensors_cover_the_data) {
  auto two = [](const std::string &a, const std::string &b) {
    return headerError("{" + safetensorsEntry("a", "U8", "[4]", a) + "," +
                           safetensorsEntry("b", "U8", "[4]", b) + "}",
                       std::string(10, 'x'));
  };
  EXPECT_EQ(two("[0,4]", "[6,10]"),
            "m: tensor 'b': begins at 6, after a hole; expected 4, where "
            "tensor 'a' ends");
  EXPECT_EQ(two("[0,4]", "[3,7]"),
            "m: tensor 'b': begins at 3, overlapping; expected 4, where "
            "tensor 'a' ends");
  EXPECT_EQ(two("[2,6]", "[6,10]"),
            "m: tensor 'a': begins at 2, after a hole; expected 0, where the "
            "data begins");
  EXPECT_EQ(two("[0,4]", "[4,8]"),
            "m: the last tensor ends at 8, the file has 10 bytes of data");
  EXPECT_EQ(headerError("{}", "x"),
            "m: the last tensor ends at 0, the file has 1 bytes of data");
}
