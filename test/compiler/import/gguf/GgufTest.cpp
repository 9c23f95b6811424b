// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The GGUF reader: valid files are read, and each rule has its error.
#include "compiler/import/gguf/Gguf.h"
#include "test/compiler/import/gguf/GgufWriter.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

std::string parseError(const std::string &bytes) {
  Result<gguf::Header> header = gguf::parseGguf(bytes, "m");
  EXPECT_TRUE(header || header.error().status == Status::Rejected)
      << header.error().message;
  return getError(header);
}

/// Returns the error for a file with one tensor and 32 data bytes.
std::string tensorError(const std::vector<uint64_t> &reversed, uint32_t type,
                        uint64_t offset) {
  GgufWriter writer;
  writer.add("t", reversed, type, offset, std::string(64, 'd'));
  return parseError(writer.bytes());
}

} // namespace

TEST(Gguf, reads_every_type_of_value) {
  GgufWriter writer;
  writer.version = 2;
  writer.setBytes("u8", ggufValue(0, ggufNumber<uint8_t>(200)));
  writer.setBytes("i8", ggufValue(1, ggufNumber<int8_t>(-3)));
  writer.setBytes("u16", ggufValue(2, ggufNumber<uint16_t>(60000)));
  writer.setBytes("i16", ggufValue(3, ggufNumber<int16_t>(-30000)));
  writer.set("u32", uint32_t(4000000000));
  writer.setBytes("i32", ggufValue(5, ggufNumber<int32_t>(-7)));
  writer.set("f32", 0.5f);
  writer.set("bool", true);
  writer.set("text", "ä b");
  writer.setBytes("u64", ggufValue(10, ggufNumber<uint64_t>(1) + ""));
  writer.setBytes("big", ggufValue(10, ggufNumber<uint64_t>(UINT64_MAX)));
  writer.setBytes("i64", ggufValue(11, ggufNumber<int64_t>(-1)));
  writer.setBytes("f64", ggufValue(12, ggufNumber(0.25)));
  writer.set("texts", std::vector<std::string>{"a", "", "bc"});
  // [[1, 2], ["x"]]
  writer.setBytes("nested",
                  ggufArray(9, 2,
                            ggufNumber<uint32_t>(2) + ggufNumber<uint64_t>(2) +
                                ggufNumber<uint16_t>(1) +
                                ggufNumber<uint16_t>(2) +
                                ggufNumber<uint32_t>(8) +
                                ggufNumber<uint64_t>(1) + ggufString("x")));
  TempFolder folder;
  Result<gguf::File> file =
      gguf::File::open(folder.write("m.gguf", writer.bytes()));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->find("u8")->asInt(), 200);
  EXPECT_EQ(file->find("i8")->asInt(), -3);
  EXPECT_EQ(file->find("u16")->asInt(), 60000);
  EXPECT_EQ(file->find("i16")->asInt(), -30000);
  EXPECT_EQ(file->find("u32")->asInt(), 4000000000);
  EXPECT_EQ(file->find("u32")->asNumber(), 4e9);
  EXPECT_EQ(file->find("i32")->asInt(), -7);
  EXPECT_EQ(file->find("f32")->asNumber(), 0.5);
  EXPECT_EQ(file->find("f32")->asInt(), std::nullopt);
  EXPECT_EQ(file->find("bool")->asBool(), true);
  EXPECT_EQ(file->find("bool")->asInt(), std::nullopt);
  EXPECT_EQ(file->find("text")->asString(), "ä b");
  EXPECT_EQ(file->find("text")->asBool(), std::nullopt);
  EXPECT_EQ(file->find("u64")->asInt(), 1);
  EXPECT_EQ(file->find("big")->asInt(), std::nullopt);
  EXPECT_EQ(file->find("i64")->asInt(), -1);
  EXPECT_EQ(file->find("f64")->asNumber(), 0.25);
  EXPECT_EQ(file->find("none"), nullptr);
  std::vector<gguf::Value> texts = file->find("texts")->asArray();
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(texts[2].asString(), "bc");
  std::vector<gguf::Value> nested = file->find("nested")->asArray();
  ASSERT_EQ(nested.size(), 2u);
  ASSERT_EQ(nested[0].count(), 2u);
  EXPECT_EQ(nested[0].asArray()[1].asInt(), 2);
  EXPECT_EQ(nested[1].asArray()[0].asString(), "x");
  EXPECT_TRUE(file->find("u8")->asArray().empty());
}

TEST(Gguf, reads_tensors_at_the_alignment_that_is_said) {
  GgufWriter writer;
  writer.alignment = 64;
  writer.set("general.alignment", uint32_t(64));
  writer.append("a", {3, 2}, 0, std::string(24, 'a'));
  writer.append("q", {64, 2}, 8, std::string(4 * 34, 'q'));
  writer.append("h", {5}, 30, std::string(10, 'h'));
  writer.append("e", {0, 7}, 1, "");
  TempFolder folder;
  const std::string bytes = writer.bytes();
  Result<gguf::File> file = gguf::File::open(folder.write("m.gguf", bytes));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->tensors().size(), 4u);
  const gguf::Tensor *a = file->findTensor("a");
  EXPECT_EQ(a->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(a->type->dtype, DType::F32);
  EXPECT_EQ(a->begin % 64, 0u);
  EXPECT_EQ(bytes.substr(a->begin, a->end - a->begin), std::string(24, 'a'));
  const gguf::Tensor *q = file->findTensor("q");
  EXPECT_STREQ(q->type->name, "Q8_0");
  EXPECT_FALSE(q->type->dtype);
  EXPECT_EQ(bytes.substr(q->begin, q->end - q->begin), std::string(136, 'q'));
  EXPECT_EQ(file->findTensor("h")->type->dtype, DType::BF16);
  EXPECT_EQ(file->findTensor("e")->begin, file->findTensor("e")->end);
  EXPECT_EQ(file->findTensor("none"), nullptr);
}

TEST(Gguf, the_start_of_the_file) {
  EXPECT_EQ(parseError(""), "m: byte 0: the file does not begin with 'GGUF'");
  EXPECT_EQ(parseError("GGML1234"),
            "m: byte 0: the file does not begin with 'GGUF'");
  EXPECT_EQ(parseError("GGUF\3"), "m: byte 4: the version takes 4 bytes, but "
                                  "the file ends after 1");
  GgufWriter writer;
  for (auto [version, text] :
       {std::pair(1u, "m: byte 4: GGUF version 1; supported: 2, 3"),
        std::pair(4u, "m: byte 4: GGUF version 4; supported: 2, 3"),
        std::pair(0x03000000u, "m: byte 4: the file is big-endian; supported: "
                               "little-endian")}) {
    writer.version = version;
    Result<gguf::Header> header = gguf::parseGguf(writer.bytes(), "m");
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().status, Status::Unsupported);
    EXPECT_EQ(header.error().message, text);
  }
}

TEST(Gguf, counts_and_lengths_fit_the_file) {
  // Counts in the header.
  GgufWriter writer;
  writer.moreTensors = INT64_MAX;
  EXPECT_EQ(parseError(writer.head()),
            "m: byte 8: 9223372036854775807 tensors do not fit into the 8 "
            "bytes up to the end of the file");
  writer.moreTensors = 0;
  writer.moreMetadata = -1;
  EXPECT_EQ(parseError(writer.head()),
            "m: byte 16: 18446744073709551615 metadata values do not fit into "
            "the 0 bytes up to the end of the file");
  // Lengths of strings and arrays.
  writer.moreMetadata = 0;
  writer.setBytes("k", ggufValue(8, ggufNumber<uint64_t>(1) + ""));
  EXPECT_EQ(parseError(writer.head()),
            "m: byte 37: value of 'k' of 1 bytes does not fit into the 0 bytes "
            "up to the end of the file");
  writer.metadata = {{"k", ggufArray(6, uint64_t(1) << 62, "")}};
  EXPECT_EQ(parseError(writer.head()),
            "m: byte 41: 4611686018427387904 elements of the value of 'k' do "
            "not fit into the 0 bytes up to the end of the file");
  writer.metadata = {{"k", ggufArray(8, 2, ggufString("abc"))}};
  EXPECT_EQ(parseError(writer.head()),
            "m: byte 41: 2 elements of the value of 'k' do not fit into the 11 "
            "bytes up to the end of the file");
  // Array nesting.
  std::string nested;
  for (unsigned i = 0; i <= gguf::maxArrayDepth; ++i)
    nested += ggufNumber<uint32_t>(9) + ggufNumber<uint64_t>(1);
  writer.metadata = {{"k", ggufValue(9, nested)}};
  EXPECT_EQ(parseError(writer.head()),
            "m: byte 133: value of 'k': arrays nest deeper than 8");
}

TEST(Gguf, keys_and_values) {
  // Keys must be unique, not empty and UTF-8.
  GgufWriter writer;
  writer.set("k", uint32_t(1));
  writer.set("k", uint32_t(1));
  EXPECT_EQ(parseError(writer.bytes()),
            "m: byte 41: metadata key 'k' is there twice");
  writer.metadata = {{"", ggufValue(uint32_t(1))}};
  EXPECT_EQ(parseError(writer.bytes()), "m: byte 24: a metadata key is empty");
  writer.metadata = {{"\xff", ggufValue(uint32_t(1))}};
  EXPECT_EQ(parseError(writer.bytes()),
            "m: byte 32: a metadata key is not valid UTF-8");
  // Value types and booleans.
  writer.metadata = {{"k", ggufValue(13, "")}};
  EXPECT_EQ(parseError(writer.bytes()),
            "m: byte 33: value of 'k' has the unknown type 13; known: 0 to 12");
  writer.metadata = {{"k", ggufValue(7, "\2")}};
  EXPECT_EQ(parseError(writer.bytes()),
            "m: byte 37: value of 'k' is a bool of the value 2; expected 0 or "
            "1");
  // Alignments must be powers of two in the supported range.
  for (uint32_t alignment : {0u, 4u, 24u, 1u << 31}) {
    writer.metadata.clear();
    writer.set("general.alignment", alignment);
    EXPECT_EQ(parseError(writer.bytes()),
              "m: byte 53: value of 'general.alignment' is " +
                  std::to_string(alignment) +
                  "; expected a power of two from 8 to 1073741824");
  }
}

TEST(Gguf, tensors_lie_in_the_file) {
  EXPECT_EQ(tensorError({8}, 0, 32), "no error");
  EXPECT_EQ(tensorError({9}, 0, 32),
            "m: byte 24: tensor 't' of 36 bytes at the offset 32 reaches "
            "beyond the file, which has 64 bytes of data");
  EXPECT_EQ(tensorError({8}, 0, 8),
            "m: byte 24: tensor 't' is at the offset 8, no multiple of the "
            "alignment 32");
  EXPECT_EQ(tensorError({1}, 0, uint64_t(0) - 32),
            "m: byte 24: tensor 't' of 4 bytes at the offset "
            "18446744073709551584 reaches beyond the file, which has 64 bytes "
            "of data");
  EXPECT_EQ(tensorError({uint64_t(1) << 32, uint64_t(1) << 32}, 0, 0),
            "m: byte 24: tensor 't' of shape [4294967296, 4294967296] has no "
            "whole blocks of 1 elements within 64 bits, which F32 has");
  EXPECT_EQ(tensorError({33}, 8, 0),
            "m: byte 24: tensor 't' of shape [33] has no whole blocks of 32 "
            "elements within 64 bits, which Q8_0 has");
  EXPECT_EQ(tensorError({uint64_t(1) << 63}, 0, 0),
            "m: byte 37: tensor 't' has the size 9223372036854775808; expected "
            "at most 2^63 - 1");
  EXPECT_EQ(tensorError({1, 1, 1, 1, 1}, 0, 0),
            "m: byte 33: tensor 't' has 5 dimensions; supported: up to 4");
}

TEST(Gguf, tensors_share_nothing) {
  GgufWriter writer;
  writer.add("t", {16}, 0, 0, std::string(64, 'd'));
  writer.add("u", {8}, 0, 32, "");
  EXPECT_EQ(parseError(writer.bytes()),
            "m: byte 57: tensor 'u' begins at byte 128, before the end of "
            "tensor 't' at byte 160");
  writer = {};
  writer.append("t", {1}, 0, "dddd");
  writer.append("t", {1}, 0, "dddd");
  EXPECT_EQ(parseError(writer.bytes()),
            "m: byte 57: tensor 't' is there twice");
}

TEST(Gguf, unknown_types_of_tensors_are_not_supported) {
  GgufWriter writer;
  writer.append("t", {1}, 4, "dddd");
  Result<gguf::Header> header = gguf::parseGguf(writer.bytes(), "m");
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().status, Status::Unsupported);
  EXPECT_EQ(header.error().message,
            "m: byte 45: tensor 't' has the unknown type 4");
}
