// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The element type table, and conversions in loops that the compiler
// vectorizes: no branch and no table look-up per element.
#include "runtime/base/DType.h"
#include "runtime/base/Checked.h"
#include <cstring>
#include <string>

namespace transom {
namespace {

struct DTypeInfo {
  std::string_view name, safetensors;
  unsigned bits;
};

// In enumeration order.
constexpr DTypeInfo table[dtypeCount] = {
    {"f32", "F32", 32},       {"f16", "F16", 16},
    {"bf16", "BF16", 16},     {"f64", "F64", 64},
    {"i64", "I64", 64},       {"i32", "I32", 32},
    {"i16", "I16", 16},       {"i8", "I8", 8},
    {"u64", "U64", 64},       {"u32", "U32", 32},
    {"u16", "U16", 16},       {"u8", "U8", 8},
    {"bool", "BOOL", 8},      {"f8e5m2", "F8_E5M2", 8},
    {"f8e4m3", "F8_E4M3", 8}, {"f8e8m0", "F8_E8M0", 8},
    {"f6e2m3", "F6_E2M3", 6}, {"f6e3m2", "F6_E3M2", 6},
    {"f4", "F4", 4},          {"c64", "C64", 64},
};

const DTypeInfo &getInfo(DType type) { return table[static_cast<int>(type)]; }

template <typename Match> std::optional<DType> findType(Match match) {
  for (int i = 0; i < dtypeCount; ++i)
    if (match(table[i]))
      return static_cast<DType>(i);
  return std::nullopt;
}

uint32_t getBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
float getFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// Loads `count` unaligned elements of type In and stores f(element).
template <typename In, typename Out, typename F>
bool convertEach(const void *in, size_t count, Out *out, F f) {
  auto *bytes = static_cast<const char *>(in);
  for (size_t i = 0; i < count; ++i) {
    In element;
    std::memcpy(&element, bytes + i * sizeof(In), sizeof(In));
    out[i] = f(element);
  }
  return true;
}

template <typename In, typename Out>
bool castEach(const void *in, size_t count, Out *out) {
  return convertEach<In>(in, count, out,
                         [](In e) { return static_cast<Out>(e); });
}

template <typename Out>
bool convertIntegers(DType type, const void *in, size_t count, Out *out) {
  switch (type) {
  case DType::I64:
    return castEach<int64_t>(in, count, out);
  case DType::I32:
    return castEach<int32_t>(in, count, out);
  case DType::I16:
    return castEach<int16_t>(in, count, out);
  case DType::I8:
    return castEach<int8_t>(in, count, out);
  case DType::U64:
    return castEach<uint64_t>(in, count, out);
  case DType::U32:
    return castEach<uint32_t>(in, count, out);
  case DType::U16:
    return castEach<uint16_t>(in, count, out);
  case DType::U8:
    return castEach<uint8_t>(in, count, out);
  case DType::Bool:
    return convertEach<uint8_t>(in, count, out,
                                [](uint8_t e) { return Out(e != 0); });
  default:
    return false;
  }
}

} // namespace

std::string_view dtypeName(DType type) { return getInfo(type).name; }
std::string_view safetensorsName(DType type) {
  return getInfo(type).safetensors;
}
std::optional<DType> dtypeFromName(std::string_view name) {
  return findType([&](const DTypeInfo &info) { return info.name == name; });
}
std::optional<DType> dtypeFromSafetensors(std::string_view name) {
  return findType(
      [&](const DTypeInfo &info) { return info.safetensors == name; });
}

unsigned dtypeBits(DType type) { return getInfo(type).bits; }

std::optional<uint64_t> dtypeBytes(DType type, uint64_t count) {
  unsigned bits = dtypeBits(type);
  if (bits % 8 == 0)
    return (CheckedSize(count) * CheckedSize(bits / 8)).value();
  std::optional<uint64_t> total =
      (CheckedSize(count) * CheckedSize(bits)).value();
  return total && *total % 8 == 0 ? std::optional(*total / 8) : std::nullopt;
}

std::optional<int64_t> elementCount(const std::vector<int64_t> &shape) {
  CheckedSize count(1);
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    empty |= dim == 0;
    count *= CheckedSize::fromSigned(dim);
  }
  return empty ? std::optional<int64_t>(0) : count.signedValue();
}

std::optional<uint64_t> tensorBytes(DType type,
                                    const std::vector<int64_t> &shape) {
  std::optional<int64_t> count = elementCount(shape);
  return count ? dtypeBytes(type, *count) : std::nullopt;
}

bool isFloat(DType type) {
  return type == DType::F32 || type == DType::F16 || type == DType::BF16 ||
         type == DType::F64;
}
bool isInteger(DType type) { return type >= DType::I64 && type <= DType::Bool; }

float halfToFloat(uint16_t bits) {
  // Shift exponent and mantissa; multiplying by 2^112 corrects the bias and
  // normalizes denormals. All-ones exponents are handled separately.
  uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFF) << 13;
  uint32_t scaled = getBits(getFloat(magnitude) * 0x1p112f);
  uint32_t special = magnitude | 0x7F800000;
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  return getFloat((magnitude >= 0x0F800000 ? special : scaled) | sign);
}

float bfloat16ToFloat(uint16_t bits) {
  return getFloat(static_cast<uint32_t>(bits) << 16);
}

uint16_t floatToHalf(float value) {
  uint32_t bits = getBits(value);
  uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  bits &= 0x7FFFFFFF;
  if (bits > 0x7F800000) // NaN: stays a NaN, quiet
    return sign | 0x7E00 | static_cast<uint16_t>(bits >> 13 & 0x3FF);
  if (bits >= 0x477FF000) // 65520 and more round to infinity
    return sign | 0x7C00;
  if (bits < 0x38800000) { // below 2^-14: the sum's last bits are the result
    float shifted = getFloat(bits) + 0.5f;
    return sign | static_cast<uint16_t>(getBits(shifted) - 0x3F000000);
  }
  bits += 0xFFF + (bits >> 13 & 1);
  return sign | static_cast<uint16_t>((bits - 0x38000000) >> 13);
}

uint16_t floatToBfloat16(float value) {
  uint32_t bits = getBits(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) // a bfloat16 NaN keeps its bits
    return static_cast<uint16_t>(bits >> 16 | (bits & 0x7F0000 ? 0 : 0x40));
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

bool convertToF32(DType type, const void *in, size_t count, float *out) {
  switch (type) {
  case DType::F32:
    if (count != 0)
      std::memcpy(out, in, count * 4);
    return true;
  case DType::F64:
    return castEach<double>(in, count, out);
  case DType::F16:
    return convertEach<uint16_t>(in, count, out, halfToFloat);
  case DType::BF16:
    return convertEach<uint16_t>(in, count, out, bfloat16ToFloat);
  default:
    return convertIntegers(type, in, count, out);
  }
}

bool convertToI64(DType type, const void *in, size_t count, int64_t *out) {
  return convertIntegers(type, in, count, out);
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (int64_t dim : shape)
    text += (text.size() == 1 ? "" : ", ") + std::to_string(dim);
  return text + "]";
}

} // namespace transom
