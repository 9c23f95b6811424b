// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// zlib restores the compressed data.
#include "tools/commands/attention/Deflate.h"
#include <gtest/gtest.h>
#include <random>
#include <zlib.h>

using namespace transom::tools;

/// Returns the bytes in a raw deflate or zlib stream; `error` for other data.
static std::string inflateAll(const std::string &packed, int windowBits,
                              size_t size) {
  z_stream stream{};
  if (inflateInit2(&stream, windowBits) != Z_OK)
    return "error";
  std::string bytes(size + 1, '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef *>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int status = inflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  const bool all = stream.avail_in == 0;
  inflateEnd(&stream);
  return status == Z_STREAM_END && all ? bytes : "error";
}

static void expectRoundTrip(const std::string &bytes) {
  EXPECT_TRUE(inflateAll(deflate(bytes), -15, bytes.size()) == bytes);
  EXPECT_TRUE(inflateAll(deflateZlib(bytes), 15, bytes.size()) == bytes);
}

TEST(Deflate, ShortTexts) {
  for (const char *text : {"", "a", "aa", "aaaa", "abc", "aaaaaaaabbbbbbbb"})
    expectRoundTrip(text);
}

TEST(Deflate, RunsOfEveryLength) {
  for (size_t length = 1; length < 600; ++length)
    expectRoundTrip("x" + std::string(length, 'y') + "z");
}

TEST(Deflate, SeveralBlocks) {
  std::mt19937 random(1);
  for (size_t size : {65535u, 65536u, 65537u, 300000u}) {
    std::string bytes;
    for (size_t i = 0; i < size; ++i)
      bytes += static_cast<char>(random());
    expectRoundTrip(bytes);
    expectRoundTrip(std::string(size, '\0'));
  }
}

TEST(Deflate, BlocksEndWhereTheyAreAskedTo) {
  // Few values, then all values: the second block is stored as it is.
  std::mt19937 random(2);
  std::string bytes;
  for (int i = 0; i < 6000; ++i)
    bytes += static_cast<char>(i < 3000 ? random() % 4 : random());
  for (const std::vector<size_t> &ends :
       {std::vector<size_t>{3000}, {6000}, {1}, {1, 2, 3, 5999, 6000, 7000}})
    EXPECT_TRUE(inflateAll(deflate(bytes, ends), -15, bytes.size()) == bytes);
  EXPECT_LT(deflate(bytes, {3000}).size(), 3000u + 3000u / 4 + 150u);
  EXPECT_GT(deflate(bytes).size(), 4000u);
}

TEST(Deflate, LimitsTheLengthsOfCodes) {
  // Counts that grow like Fibonacci numbers produce the longest codes.
  std::string bytes;
  size_t count = 1, before = 0;
  for (int symbol = 0; symbol < 22; ++symbol) {
    for (size_t i = 0; i < count; ++i) {
      bytes += static_cast<char>(symbol);
      bytes += static_cast<char>(200 + i % 2);
    }
    count += std::exchange(before, count);
  }
  expectRoundTrip(bytes.substr(0, 65536));
  expectRoundTrip(bytes);
}

TEST(Deflate, RareValuesTakeFewBits) {
  std::string bytes(100000, '\0');
  for (size_t i = 0; i < bytes.size(); i += 100)
    bytes[i] = static_cast<char>(i / 100);
  EXPECT_LT(deflate(bytes).size(), 6000u);
}

TEST(Deflate, Crc32) {
  const std::string text = "123456789";
  EXPECT_EQ(getCrc32(text), 0xcbf43926u);
  EXPECT_EQ(getCrc32(""), 0u);
}
