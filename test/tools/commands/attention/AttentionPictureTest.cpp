// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/commands/attention/AttentionReport.h"
#include <gtest/gtest.h>
#include <zlib.h>

using namespace transom;
using namespace transom::tools;

namespace {

/// A picture with one byte per pixel.
struct Picture {
  uint32_t width = 0, height = 0;
  std::string palette, rows;

  uint8_t at(size_t x, size_t y) const {
    return static_cast<uint8_t>(rows[y * (width + 1) + 1 + x]);
  }
  /// Returns the channel sum of a pixel.
  int getBrightness(size_t x, size_t y) const {
    int sum = 0;
    for (size_t channel = 0; channel < 3; ++channel)
      sum += static_cast<uint8_t>(palette[at(x, y) * 3 + channel]);
    return sum;
  }
};

} // namespace

static uint32_t readBigEndian(const std::string &bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

/// Reads the PNG chunks and checks their checksums.
static Picture readPicture(const std::string &png) {
  Picture picture;
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  for (size_t at = 8; at < png.size();) {
    const uint32_t size = readBigEndian(png, at);
    const std::string name = png.substr(at + 4, 4);
    const std::string content = png.substr(at + 8, size);
    EXPECT_EQ(crc32(0, reinterpret_cast<const Bytef *>(&png[at + 4]), size + 4),
              readBigEndian(png, at + 8 + size));
    if (name == "IHDR") {
      picture.width = readBigEndian(content, 0);
      picture.height = readBigEndian(content, 4);
    } else if (name == "PLTE") {
      picture.palette = content;
    } else if (name == "IDAT") {
      uLongf bytes = (picture.width + 1) * picture.height;
      picture.rows.resize(bytes);
      EXPECT_EQ(uncompress(reinterpret_cast<Bytef *>(picture.rows.data()),
                           &bytes,
                           reinterpret_cast<const Bytef *>(content.data()),
                           content.size()),
                Z_OK);
      EXPECT_EQ(bytes, picture.rows.size());
    }
    at += 12 + size;
  }
  return picture;
}

static Picture draw(const std::vector<AttentionGroup> &groups) {
  std::string png;
  AttentionReport report;
  report.groups = groups;
  EXPECT_TRUE(writePicture(report, [&](std::string_view bytes) -> Result<void> {
    png += bytes;
    return {};
  }));
  return readPicture(png);
}

TEST(AttentionPicture, ShowsEachWeight) {
  AttentionGroup group;
  group.layers = {0};
  group.heads = {4, 17};
  group.queries = group.keys = {"a", "b"};
  group.weights = {1, 0, 0.25f, 0.75f, 0.5f, 0.5f, 0, 1};
  const Picture picture = draw({group});
  // Two matrices with 2 by 2 cells of 48 pixels, with a margin and gaps.
  EXPECT_EQ(picture.width, 40u + 2 * (96 + 8));
  EXPECT_EQ(picture.height, 40u + 96 + 8);
  EXPECT_EQ(picture.at(40, 40), 253);
  EXPECT_EQ(picture.at(87, 87), 253);
  EXPECT_EQ(picture.at(88, 40), 0);
  EXPECT_EQ(picture.at(138, 40), 254) << "the gap";
  EXPECT_EQ(picture.at(144 + 95, 40 + 95), 253);
  EXPECT_LT(picture.getBrightness(40, 90), picture.getBrightness(90, 90));
  EXPECT_LT(picture.getBrightness(90, 90), picture.getBrightness(40, 40));
}

TEST(AttentionPicture, ReducesLargeMatricesToTheLargestWeights) {
  AttentionGroup group;
  group.layers = {0};
  group.heads = {0};
  group.queries.resize(300, "q");
  group.keys.resize(600, "k");
  group.weights.resize(300 * 600, 0);
  group.weights[299 * 600 + 301] = 1;
  const Picture picture = draw({group});
  EXPECT_EQ(picture.width, 40u + 256 + 8);
  EXPECT_EQ(picture.height, 40u + 256 + 8);
  EXPECT_EQ(picture.at(40 + 301 * 256 / 600, 40 + 255), 253);
  EXPECT_EQ(picture.at(40, 40), 0);
}

TEST(AttentionPicture, HasTheNumbersOfLayersAndHeads) {
  AttentionGroup group;
  group.layers = {8};
  group.heads = {1};
  group.queries = group.keys = {"a"};
  group.weights = {1};
  const Picture picture = draw({group});
  size_t inMargin = 0;
  for (size_t y = 0; y < picture.height; ++y)
    for (size_t x = 0; x < picture.width; ++x)
      inMargin += picture.at(x, y) == 255 && (x < 40 || y < 40);
  EXPECT_EQ(inMargin, 4u * (13 + 8)) << "the dots of 8 and 1";
}

TEST(AttentionPicture, GroupsAreBelowEachOther) {
  AttentionGroup first;
  first.layers = {0};
  first.heads = {0, 1};
  first.queries = first.keys = {"a", "b"};
  first.weights = {1, 0, 0, 1, 0, 1, 1, 0};
  AttentionGroup second = first;
  second.heads = {0};
  second.queries = {"a"};
  second.weights = {0, 1};
  const Picture picture = draw({first, second});
  EXPECT_EQ(picture.width, 40u + 2 * (96 + 8));
  EXPECT_EQ(picture.height, 2 * (40u + 96 + 8));
  EXPECT_EQ(picture.at(144, 40), 0) << "head 1 of the first";
  EXPECT_EQ(picture.at(40, 144 + 40), 0);
  EXPECT_EQ(picture.at(40 + 48, 144 + 40), 253);
  EXPECT_EQ(picture.at(144, 144 + 40), 254) << "the second has no head 1";
}
