// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The codecs of panels: f32, bf16 in pairs, whole numbers in groups.
#include "runtime/abi/Layout.h"
#include "runtime/weights/OperandFormat.h"
#include "runtime/weights/Quantization.h"
#include <algorithm>
#include <cstring>

using namespace transom;

namespace {

/// Numbers of k that are written together: keeps the written lines in L1.
constexpr int64_t tileDepth = 16;

/// Calls `at(row, k)` for all elements in the order in which a panel is
/// written best.
template <typename At>
void forEachElement(int64_t count, int64_t depth, const At &at) {
  for (int64_t begin = 0; begin < depth; begin += tileDepth) {
    const int64_t end = std::min(depth, begin + tileDepth);
    for (int64_t lane = 0; lane < count; ++lane)
      for (int64_t k = begin; k < end; ++k)
        at(lane, k);
  }
}

/// [k][32] of f32.
class F32Codec final : public PanelCodec {
public:
  void pack(const float *rows, int64_t count, int64_t depth,
            char *out) const override {
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

/// [k/2][32][2] of bf16, rounded to nearest even.
class Bf16PairsCodec final : public PanelCodec {
public:
  void pack(const float *rows, int64_t count, int64_t depth,
            char *out) const override {
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

/// int8 in groups along K. A group is [group/4][32][4] of w + 128, whose bits
/// are those of w with the first one flipped, then 32 scales.
class Int8GroupsCodec final : public PanelCodec {
public:
  explicit Int8GroupsCodec(int64_t group)
      : format(OperandFormat::getQuantized(StorageType::I8, group)) {}

  const OperandFormat &getFormat() const { return format; }

  void pack(const float *rows, int64_t count, int64_t depth,
            char *out) const override {
    std::vector<int8_t> numbers(format.group);
    forEachGroup(count, depth, [&](const Group &group) {
      const float scale =
          quantizeGroup(rows + group.lane * depth + group.first, group.size,
                        StorageType::I8, numbers.data());
      for (int64_t k = 0; k < group.size; ++k)
        out[getOffset(group, k)] = static_cast<char>(numbers[k] ^ 0x80);
      std::memcpy(out + getScaleOffset(group), &scale, sizeof scale);
    });
  }

  void unpack(const char *panel, int64_t count, int64_t depth,
              float *rows) const override {
    forEachGroup(count, depth, [&](const Group &group) {
      float scale;
      std::memcpy(&scale, panel + getScaleOffset(group), sizeof scale);
      for (int64_t k = 0; k < group.size; ++k) {
        const auto number =
            static_cast<int8_t>(panel[getOffset(group, k)] ^ 0x80);
        rows[group.lane * depth + group.first + k] =
            static_cast<float>(number) * scale;
      }
    });
  }

private:
  /// The numbers of a row from k = `first` on.
  struct Group {
    int64_t lane, first, size;
  };

  template <typename Visit>
  void forEachGroup(int64_t count, int64_t depth, const Visit &visit) const {
    for (int64_t first = 0; first < depth; first += format.group)
      for (int64_t lane = 0; lane < count; ++lane)
        visit(Group{lane, first, std::min(format.group, depth - first)});
  }

  /// Where a group begins in a panel.
  int64_t getStart(const Group &group) const {
    return group.first / format.group *
           (format.getGroupBytes() + panelWidth * int64_t(sizeof(float)));
  }
  int64_t getOffset(const Group &group, int64_t k) const {
    return getStart(group) + k / 4 * format.getStepBytes() + group.lane * 4 +
           k % 4;
  }
  int64_t getScaleOffset(const Group &group) const {
    return getStart(group) + format.getGroupBytes(group.size) +
           group.lane * int64_t(sizeof(float));
  }

  OperandFormat format;
};

} // namespace

const PanelCodec *transom::findPanelCodec(const OperandFormat &format) {
  static const F32Codec f32;
  static const Bf16PairsCodec bf16;
  static const Int8GroupsCodec int8By32(32), int8By64(64), int8By128(128);
  static const std::pair<OperandFormat, const PanelCodec *> codecs[] = {
      {OperandFormat(StorageType::F32), &f32},
      {OperandFormat(StorageType::BF16), &bf16},
      {int8By32.getFormat(), &int8By32},
      {int8By64.getFormat(), &int8By64},
      {int8By128.getFormat(), &int8By128},
  };
  for (const auto &[known, codec] : codecs)
    if (known == format)
      return codec;
  return nullptr;
}
