// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panel codecs: packing and unpacking round-trips.
#include "runtime/base/DType.h"
#include "runtime/base/OperandFormat.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace transom;

namespace {

/// Expects that a panel unpacks to these rows; returns the panel.
std::vector<char> packAndUnpack(const OperandFormat &format,
                                const std::vector<float> &rows, int64_t count,
                                int64_t depth) {
  std::vector<char> panel(format.getPanelBytes(depth));
  const PanelCodec *codec = findPanelCodec(format);
  EXPECT_TRUE(codec) << format.str();
  if (!codec)
    return panel;
  codec->pack(rows.data(), count, depth, panel.data());
  std::vector<float> back(rows.size());
  codec->unpack(panel.data(), count, depth, back.data());
  EXPECT_EQ(back, rows) << format.str();
  return panel;
}

TEST(PanelCodecs, codecs_read_back_what_they_packed) {
  constexpr int64_t count = 5, depth = 37;
  std::vector<float> rows(count * depth);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<float>(i % 128); // exact in bf16 too
  for (DType type : {DType::F32, DType::BF16})
    packAndUnpack(OperandFormat(type), rows, count, depth);
}

TEST(PanelCodecs, whole_numbers_in_groups_are_exact) {
  constexpr int64_t count = 3, depth = 180;
  std::vector<float> rows(count * depth);
  for (int64_t i = 0; i < count * depth; ++i) // each group has a 127
    rows[i] = static_cast<float>(i % depth % 32 == 0 ? 127 : i % 200 - 100);
  for (int64_t group : quantizedGroups) {
    const OperandFormat format =
        OperandFormat::getQuantized(StorageType::I8, group);
    const std::vector<char> panel = packAndUnpack(format, rows, count, depth);
    // The first elements in the first two rows, interleaved by four.
    EXPECT_EQ(panel[0], char(127 + 128));
    EXPECT_EQ(panel[1], char(1 - 100 + 128));
    EXPECT_EQ(panel[4], char(127 + 128));
    // The last row's scale in the first group.
    float scale;
    std::memcpy(&scale,
                panel.data() + format.getGroupBytes(std::min(group, depth)) +
                    (count - 1) * 4,
                4);
    EXPECT_EQ(scale, 1);
  }
}

TEST(PanelCodecs, four_bits_in_groups_are_exact) {
  constexpr int64_t count = 3, depth = 184;
  for (StorageType type : {StorageType::I4, StorageType::U4})
    for (int64_t group : quantizedGroups) {
      const int64_t lowest = getLowest(type);
      std::vector<float> rows(count * depth);
      for (int64_t i = 0; i < count * depth; ++i) // all elements in each group
        rows[i] = static_cast<float>(i % depth * 5 % 16 + lowest);
      const OperandFormat format = OperandFormat::getQuantized(type, group);
      const std::vector<char> panel = packAndUnpack(format, rows, count, depth);
      // The first and the fifth element in the first two rows.
      const int first = 0, fifth = 4 * 5 % 16;
      EXPECT_EQ(panel[0], char(first | fifth << 4));
      EXPECT_EQ(panel[4], panel[0]);
      // The last row's scale in the first group, and its offset.
      uint16_t scale;
      const char *scales =
          panel.data() + format.getGroupBytes(std::min(group, depth));
      std::memcpy(&scale, scales + (count - 1) * 2, 2);
      EXPECT_EQ(halfToFloat(scale), 1);
      if (format.minimums) {
        std::memcpy(&scale, scales + 64 + (count - 1) * 2, 2);
        EXPECT_EQ(halfToFloat(scale), 0);
      }
    }
}

TEST(PanelCodecs, given_whole_numbers_stay) {
  constexpr int64_t count = 3, depth = 80;
  for (const OperandFormat &format : OperandFormat::getQuantizedFormats()) {
    SCOPED_TRACE(format.str());
    const int64_t lowest = getLowest(format.element),
                  most = getMaxMagnitude(format.element),
                  groups = format.getNumGroups(depth);
    std::vector<float> elements, scales, minimums;
    // All elements in the range, with scales that are exact.
    for (int64_t i = 0; i < count * depth; ++i)
      elements.push_back(
          static_cast<float>(lowest + i * 7 % (most - lowest + 1)));
    for (int64_t i = 0; i < count * groups; ++i) {
      scales.push_back(0.5f + static_cast<float>(i)); // exact in f16
      minimums.push_back(static_cast<float>(-i) / 4);
    }
    // Unpacking restores elements times scales plus offsets.
    std::vector<char> panel(format.getPanelBytes(depth));
    const PanelCodec *codec = findPanelCodec(format);
    codec->packGiven(elements.data(), scales.data(), minimums.data(), count,
                     depth, panel.data());
    std::vector<float> rows(count * depth);
    codec->unpack(panel.data(), count, depth, rows.data());
    for (int64_t i = 0; i < count * depth; ++i) {
      const int64_t group = i / depth * groups + i % depth / format.group;
      EXPECT_EQ(rows[i], elements[i] * scales[group] +
                             (format.minimums ? minimums[group] : 0));
    }
  }
}

TEST(PanelCodecs, zero_points_are_exact_with_scales_in_f32) {
  constexpr int64_t count = 2, depth = 128;
  const float scale = 0x403p-20f; // 11 bits; 13 times it takes more
  std::vector<float> rows(count * depth), elements(count * depth);
  for (int64_t i = 0; i < count * depth; ++i) {
    elements[i] = static_cast<float>(i * 5 % 16);
    rows[i] = (elements[i] - 13) * scale;
  }
  const std::vector<float> scales(count, scale), minimums(count, -13 * scale);
  const OperandFormat narrow =
      OperandFormat::getQuantized(StorageType::U4, 128);
  for (const OperandFormat &format :
       {narrow.withScales(StorageType::F32), narrow}) {
    std::vector<char> panel(format.getPanelBytes(depth));
    std::vector<float> back(rows.size());
    findPanelCodec(format)->packGiven(elements.data(), scales.data(),
                                      minimums.data(), count, depth,
                                      panel.data());
    findPanelCodec(format)->unpack(panel.data(), count, depth, back.data());
    EXPECT_EQ(back == rows, format.scales == StorageType::F32);
  }
}

TEST(PanelCodecs, formats_that_nothing_packs_have_no_codec) {
  OperandFormat format(StorageType::I8);
  format.group = 32;
  format.scales = StorageType::F32;
  EXPECT_FALSE(format.findError());
  EXPECT_FALSE(findPanelCodec(format));
}

} // namespace
