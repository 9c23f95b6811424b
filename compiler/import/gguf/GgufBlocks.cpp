// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block layouts as in llama.cpp's ggml-common.h. d and m are the half-precision
// factors stored once per block.
#include "compiler/import/gguf/GgufBlocks.h"
#include "runtime/base/DType.h"
#include <algorithm>
#include <cstring>

namespace transom::gguf {
namespace {

float readHalf(const uint8_t *bytes) {
  return halfToFloat(static_cast<uint16_t>(bytes[0] | bytes[1] << 8));
}

/// 16 bytes: low halves, then high halves.
void readNibbles(const uint8_t *bytes, int8_t *out, int offset) {
  for (int i = 0; i < 16; ++i) {
    out[i] = static_cast<int8_t>((bytes[i] & 15) - offset);
    out[i + 16] = static_cast<int8_t>((bytes[i] >> 4) - offset);
  }
}

/// A half-precision scale at the block start, or an offset after it.
void readScale(const uint8_t *b, Block &block) {
  block.scales[0] = readHalf(b);
}
void readScaleAndMinimum(const uint8_t *b, Block &block) {
  block.scales[0] = readHalf(b);
  block.minimums[0] = readHalf(b + 2);
}

void readQ4_0(const uint8_t *b, int8_t *out) { readNibbles(b + 2, out, 8); }

void readQ4_1(const uint8_t *b, int8_t *out) { readNibbles(b + 4, out, 0); }

/// Nibbles with a separate fifth bit.
void readFives(const uint8_t *bits, int8_t *out, int offset) {
  readNibbles(bits + 4, out, offset);
  for (int i = 0; i < 32; ++i)
    out[i] = static_cast<int8_t>(out[i] + ((bits[i / 8] >> i % 8 & 1) << 4));
}

void readQ5_0(const uint8_t *b, int8_t *out) { readFives(b + 2, out, 16); }

void readQ5_1(const uint8_t *b, int8_t *out) { readFives(b + 4, out, 0); }

void readQ8_0(const uint8_t *b, int8_t *out) { std::memcpy(out, b + 2, 32); }

/// 16 groups with 16 elements; a byte has four bits each for a scale and an
/// offset.
void readScalesQ2_K(const uint8_t *b, Block &block) {
  const float d = readHalf(b + 80), m = readHalf(b + 82);
  for (int g = 0; g < 16; ++g) {
    block.scales[g] = d * static_cast<float>(b[g] & 15);
    block.minimums[g] = -(m * static_cast<float>(b[g] >> 4));
  }
}

void readQ2_K(const uint8_t *b, int8_t *out) {
  for (int i = 0; i < 256; ++i)
    out[i] = static_cast<int8_t>(
        b[16 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3);
}

/// 16 groups with 16 elements.
void readScalesQ3_K(const uint8_t *b, Block &block) {
  const uint8_t *scales = b + 96;
  const float d = readHalf(b + 108);
  for (int g = 0; g < 16; ++g) {
    const int low = g < 8 ? scales[g] & 15 : scales[g - 8] >> 4;
    const int high = scales[8 + g % 4] >> g / 4 * 2 & 3;
    block.scales[g] = d * static_cast<float>((low | high << 4) - 32);
  }
}

/// An element's third bit is set if nothing is subtracted.
void readQ3_K(const uint8_t *b, int8_t *out) {
  for (int i = 0; i < 256; ++i) {
    const int low = b[32 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
    out[i] = static_cast<int8_t>(low - (b[i % 32] >> i / 32 & 1 ? 0 : 4));
  }
}

/// Six-bit scales and offsets for 8 groups in 12 bytes.
void readSixBits(const uint8_t *b, Block &block) {
  const float d = readHalf(b), m = readHalf(b + 2);
  const uint8_t *q = b + 4;
  for (int g = 0; g < 8; ++g) {
    const int scale =
        g < 4 ? q[g] & 63 : (q[g + 4] & 15) | (q[g - 4] >> 6 << 4);
    const int minimum = g < 4 ? q[g + 4] & 63 : q[g + 4] >> 4 | q[g] >> 6 << 4;
    block.scales[g] = d * static_cast<float>(scale);
    block.minimums[g] = -(m * static_cast<float>(minimum));
  }
}

/// In 32 bytes, low halves form a group, high halves the next one.
void readGroupNibbles(const uint8_t *bytes, int8_t *out) {
  for (int i = 0; i < 256; ++i)
    out[i] = static_cast<int8_t>(
        bytes[i / 64 * 32 + i % 32] >> i % 64 / 32 * 4 & 15);
}

void readQ4_K(const uint8_t *b, int8_t *out) { readGroupNibbles(b + 16, out); }

void readQ5_K(const uint8_t *b, int8_t *out) {
  readGroupNibbles(b + 48, out);
  for (int i = 0; i < 256; ++i)
    out[i] =
        static_cast<int8_t>(out[i] + ((b[16 + i % 32] >> i / 32 & 1) << 4));
}

/// 16 groups with 16 elements and 8-bit scales.
void readScalesQ6_K(const uint8_t *b, Block &block) {
  const float d = readHalf(b + 208);
  for (int g = 0; g < 16; ++g)
    block.scales[g] = d * static_cast<float>(static_cast<int8_t>(b[192 + g]));
}

void readQ6_K(const uint8_t *b, int8_t *out) {
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, rest = i % 128;
    const int low = b[half * 64 + rest % 64] >> rest / 64 * 4 & 15;
    const int high = b[128 + half * 32 + rest % 32] >> rest / 32 * 2 & 3;
    out[i] = static_cast<int8_t>((low | high << 4) - 32);
  }
}

/// Four-bit code values in the IQ4 types.
constexpr int8_t unevenValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};

void readUneven(const uint8_t *bytes, int8_t *out) {
  readNibbles(bytes, out, 0);
  for (int i = 0; i < 32; ++i)
    out[i] = unevenValues[out[i]];
}

void readIQ4_NL(const uint8_t *b, int8_t *out) { readUneven(b + 2, out); }

void readScalesIQ4_XS(const uint8_t *b, Block &block) {
  const float d = readHalf(b);
  const int highs = b[2] | b[3] << 8;
  for (int g = 0; g < 8; ++g) {
    const int scale = (b[4 + g / 2] >> g % 2 * 4 & 15) | (highs >> g * 2 & 3)
                                                             << 4;
    block.scales[g] = d * static_cast<float>(scale - 32);
  }
}

void readIQ4_XS(const uint8_t *b, int8_t *out) {
  for (int g = 0; g < 8; ++g)
    readUneven(b + 8 + g * 16, out + g * 32);
}

constexpr StorageType I4 = StorageType::I4, U4 = StorageType::U4,
                      I8 = StorageType::I8;
constexpr BlockType blockTypes[] = {
    {"Q4_0", I4, 32, false, readQ4_0, readScale},
    {"Q4_1", U4, 32, true, readQ4_1, readScaleAndMinimum},
    {"Q5_0", I8, 32, false, readQ5_0, readScale},
    {"Q5_1", I8, 32, true, readQ5_1, readScaleAndMinimum},
    {"Q8_0", I8, 32, false, readQ8_0, readScale},
    {"Q2_K", U4, 16, true, readQ2_K, readScalesQ2_K},
    {"Q3_K", I4, 16, false, readQ3_K, readScalesQ3_K},
    {"Q4_K", U4, 32, true, readQ4_K, readSixBits},
    {"Q5_K", I8, 32, true, readQ5_K, readSixBits},
    {"Q6_K", I8, 16, false, readQ6_K, readScalesQ6_K},
    {"IQ4_NL", I8, 32, false, readIQ4_NL, readScale},
    {"IQ4_XS", I8, 32, false, readIQ4_XS, readScalesIQ4_XS}};

class BlockReader final : public StoredTensor {
public:
  BlockReader(const TensorType &type, const BlockType &block,
              std::string_view bytes, int64_t depth)
      : StoredTensor({block.element, block.group, depth, block.minimums}),
        type(type), block(block), bytes(bytes) {}

  void read(StoredField field, int64_t row, int64_t rows, int64_t first,
            int64_t count, float *out) const override {
    Block read;
    if (field == StoredField::Elements)
      readBlocks(
          row, rows, first, count, type.blockElements, read.elements,
          [&](const uint8_t *b) { block.readElements(b, read.elements); }, out);
    else
      readBlocks(
          row, rows, first, count, type.blockElements / getGroups().group,
          field == StoredField::Scales ? read.scales : read.minimums,
          [&](const uint8_t *b) { block.readScales(b, read); }, out);
  }

private:
  /// Copies one component of row blocks: `perBlock` values for each block,
  /// which `readOne` reads from its bytes.
  template <typename Number, typename ReadOne>
  void readBlocks(int64_t row, int64_t rows, int64_t first, int64_t count,
                  int64_t perBlock, const Number *numbers,
                  const ReadOne &readOne, float *out) const {
    const int64_t rowBlocks = getGroups().depth / type.blockElements;
    const auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
    for (int64_t r = row; r < row + rows; ++r)
      for (int64_t i = first; i < first + count;) {
        readOne(data + (r * rowBlocks + i / perBlock) * type.blockBytes);
        const int64_t from = i % perBlock;
        const int64_t size = std::min(perBlock - from, first + count - i);
        out = std::copy_n(numbers + from, size, out);
        i += size;
      }
  }

  const TensorType &type;
  const BlockType &block;
  const std::string_view bytes;
};

} // namespace

const BlockType *findBlockType(std::string_view name) {
  for (const BlockType &type : blockTypes)
    if (name == type.name)
      return &type;
  return nullptr;
}

std::string getBlockTypeNames() {
  std::string names;
  for (const BlockType &type : blockTypes)
    names += (names.empty() ? "" : ", ") + std::string(type.name);
  return names;
}

std::shared_ptr<const StoredTensor> makeBlockReader(const TensorType &type,
                                                    const BlockType &block,
                                                    std::string_view bytes,
                                                    int64_t depth) {
  return std::make_shared<BlockReader>(type, block, bytes, depth);
}

} // namespace transom::gguf
