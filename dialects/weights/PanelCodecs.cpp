// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panel codecs: f32, bf16 in pairs, integers in groups.
#include "dialects/weights/Quantization.h"
#include "runtime/abi/Layout.h"
#include "runtime/base/OperandFormat.h"
#include <algorithm>
#include <cassert>
#include <cstring>

using namespace transom;

namespace {

/// Elements along K that are written together: keeps the written lines in L1.
constexpr int64_t tileDepth = 16;

/// Calls `at(row, k)` for all elements in the best order for writing a panel.
template <typename At>
void forEachElement(int64_t count, int64_t depth, const At &at) {
  for (int64_t begin = 0; begin < depth; begin += tileDepth) {
    const int64_t end = std::min(depth, begin + tileDepth);
    for (int64_t lane = 0; lane < count; ++lane)
      for (int64_t k = begin; k < end; ++k)
        at(lane, k);
  }
}

/// f32 panels [k][32].
class F32Codec final : public PanelCodec {
public:
  void pack(const float *rows, int64_t count, int64_t depth, char *out,
            const float *) const override {
    float *panel = reinterpret_cast<float *>(out);
    forEachElement(count, depth, [&](int64_t lane, int64_t k) {
      panel[k * panelWidth + lane] = rows[lane * depth + k];
    });
  }
  void unpack(const char *panel, int64_t count, int64_t depth,
              float *rows) const override {
    const float *from = reinterpret_cast<const float *>(panel);
    forEachElement(count, depth, [&](int64_t lane, int64_t k) {
      rows[lane * depth + k] = from[k * panelWidth + lane];
    });
  }
};

/// bf16 panels [k/2][32][2], rounded to nearest even.
class Bf16PairsCodec final : public PanelCodec {
public:
  void pack(const float *rows, int64_t count, int64_t depth, char *out,
            const float *) const override {
    uint16_t *panel = reinterpret_cast<uint16_t *>(out);
    forEachElement(count, depth, [&](int64_t lane, int64_t k) {
      panel[getIndex(lane, k)] = floatToBfloat16(rows[lane * depth + k]);
    });
  }
  void unpack(const char *panel, int64_t count, int64_t depth,
              float *rows) const override {
    const uint16_t *from = reinterpret_cast<const uint16_t *>(panel);
    forEachElement(count, depth, [&](int64_t lane, int64_t k) {
      const uint32_t bits = uint32_t(from[getIndex(lane, k)]) << 16;
      std::memcpy(&rows[lane * depth + k], &bits, sizeof bits);
    });
  }

private:
  static int64_t getIndex(int64_t lane, int64_t k) {
    return (k / 2 * panelWidth + lane) * 2 + k % 2;
  }
};

/// Integers in groups along K. A group is [group/4][32][4] bytes, or
/// [group/8][32][4] pairs of 4-bit elements, with the second four along K in
/// the upper halves; then 32 scales, and 32 minimums if present. Signed
/// elements are stored with an offset that makes them nonnegative.
class GroupsCodec final : public PanelCodec {
public:
  explicit GroupsCodec(const OperandFormat &format)
      : format(format), offset(getLowest(format.element) < 0
                                   ? 1 << (getStorageBits(format.element) - 1)
                                   : 0) {}

  const OperandFormat &getFormat() const { return format; }

  void pack(const float *rows, int64_t count, int64_t depth, char *out,
            const float *importance) const override {
    std::vector<int8_t> numbers(format.group);
    forEachGroup(count, depth, [&](const Group &group) {
      const GroupScale scale = quantizeGroup(
          rows + group.lane * depth + group.first, group.size, format,
          numbers.data(), importance ? importance + group.first : nullptr);
      write(group, numbers.data(), scale, out);
    });
  }

  void packGiven(const float *elements, const float *scales,
                 const float *minimums, int64_t count, int64_t depth,
                 char *out) const override {
    const int64_t groups = format.getNumGroups(depth);
    forEachGroup(count, depth, [&](const Group &group) {
      const int64_t at = group.lane * groups + group.first / format.group;
      write(group, elements + group.lane * depth + group.first,
            {scales[at], format.minimums ? minimums[at] : 0}, out);
    });
  }

  void unpack(const char *panel, int64_t count, int64_t depth,
              float *rows) const override {
    const int mask = (1 << getStorageBits(format.element)) - 1;
    forEachGroup(count, depth, [&](const Group &group) {
      const char *scales = panel + getScalesOffset(group);
      const float scale = readFloat(*format.scales, group.lane, scales);
      const float minimum = format.minimums
                                ? readFloat(*format.minimums, group.lane,
                                            scales + getBytes(*format.scales))
                                : 0;
      for (int64_t k = 0; k < group.size; ++k) {
        const int stored =
            static_cast<unsigned char>(panel[getOffset(group, k)]) >>
                getShift(k) &
            mask;
        rows[group.lane * depth + group.first + k] =
            dequantize(format, stored - offset, {scale, minimum});
      }
    });
  }

private:
  /// A row's elements from k = `first` on.
  struct Group {
    int64_t lane, first, size;
  };

  template <typename Visit>
  void forEachGroup(int64_t count, int64_t depth, const Visit &visit) const {
    for (int64_t first = 0; first < depth; first += format.group)
      for (int64_t lane = 0; lane < count; ++lane)
        visit(Group{lane, first, std::min(format.group, depth - first)});
  }

  /// Writes a group's integers, scale and minimum.
  template <typename Number>
  void write(const Group &group, const Number *numbers, GroupScale scale,
             char *out) const {
    // Write each step by column, since divisions cost more than the rest.
    const int64_t bytes = format.getColumnBytes(),
                  bits = getStorageBits(format.element);
    char *column = out + getOffset(group, 0);
    for (int64_t first = 0; first < group.size; first += format.interleave) {
      const int64_t end = std::min(first + format.interleave, group.size);
      int64_t shift = 0;
      for (int64_t k = first; k < end; shift += bits)
        for (int64_t byte = 0; byte < bytes && k < end; ++byte, ++k)
          column[byte] |= static_cast<char>(
              (static_cast<int>(numbers[k]) + offset) << shift);
      column += format.getStepBytes();
    }
    char *scales = out + getScalesOffset(group);
    writeFloat(*format.scales, scale.scale, group.lane, scales);
    if (format.minimums)
      writeFloat(*format.minimums, scale.minimum, group.lane,
                 scales + getBytes(*format.scales));
  }

  /// A group's offset in a panel.
  int64_t getStart(const Group &group) const {
    return group.first / format.group *
           (format.getGroupBytes() + format.getGroupScaleBytes());
  }
  /// An element's byte offset.
  int64_t getOffset(const Group &group, int64_t k) const {
    return getStart(group) + k / format.interleave * format.getStepBytes() +
           group.lane * format.getColumnBytes() + k % format.getColumnBytes();
  }
  /// An element's first bit in its byte.
  int64_t getShift(int64_t k) const {
    return k % format.interleave / format.getColumnBytes() *
           getStorageBits(format.element);
  }
  int64_t getScalesOffset(const Group &group) const {
    return getStart(group) + format.getGroupBytes(group.size);
  }

  /// Bytes of a group's scales or minimums.
  static int64_t getBytes(StorageType type) {
    return panelWidth * getStorageBits(type) / 8;
  }
  static void writeFloat(StorageType type, float value, int64_t lane,
                         char *to) {
    if (type == StorageType::F32) {
      std::memcpy(to + lane * 4, &value, 4);
    } else {
      const uint16_t half = floatToHalf(value);
      std::memcpy(to + lane * 2, &half, 2);
    }
  }
  static float readFloat(StorageType type, int64_t lane, const char *from) {
    if (type == StorageType::F32) {
      float value;
      std::memcpy(&value, from + lane * 4, 4);
      return value;
    }
    uint16_t half;
    std::memcpy(&half, from + lane * 2, 2);
    return halfToFloat(half);
  }

  OperandFormat format;
  int offset;
};

/// Returns the codec for integers in groups.
const PanelCodec *findGroupsCodec(const OperandFormat &format) {
  static const std::vector<GroupsCodec> codecs = [] {
    std::vector<GroupsCodec> all;
    for (const OperandFormat &known : OperandFormat::getQuantizedFormats())
      all.emplace_back(known);
    return all;
  }();
  for (const GroupsCodec &codec : codecs)
    if (codec.getFormat() == format)
      return &codec;
  return nullptr;
}

} // namespace

void PanelCodec::packGiven(const float *, const float *, const float *, int64_t,
                           int64_t, char *) const {
  assert(false && "rows of this format have no scales");
}

const PanelCodec *transom::findPanelCodec(const OperandFormat &format) {
  static const F32Codec f32;
  static const Bf16PairsCodec bf16;
  static const std::pair<OperandFormat, const PanelCodec *> codecs[] = {
      {OperandFormat(StorageType::F32), &f32},
      {OperandFormat(StorageType::BF16), &bf16},
  };
  for (const auto &[known, codec] : codecs)
    if (known == format)
      return codec;
  return findGroupsCodec(format);
}
