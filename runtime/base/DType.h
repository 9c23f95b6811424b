// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types of tensors in files and at model boundaries, with their names
// in safetensors (`F32`) and in transom (`f32`), and conversion to f32.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// An element type. Includes all safetensors types; only some are supported in
/// computations.
enum class DType : uint8_t {
  F32,
  F16,
  BF16,
  F64,
  I64,
  I32,
  I16,
  I8,
  U64,
  U32,
  U16,
  U8,
  Bool,
  F8E5M2,
  F8E4M3,
  F8E8M0,
  F6E2M3,
  F6E3M2,
  F4,
  C64,
};
inline constexpr int dtypeCount = 20;

/// The transom name: `f32`, `bool`, ...
std::string_view dtypeName(DType type);
/// The name in safetensors: `F32`, `BOOL`, ...
std::string_view safetensorsName(DType type);
std::optional<DType> dtypeFromName(std::string_view name);
std::optional<DType> dtypeFromSafetensors(std::string_view name);

/// Bits per element; a multiple of 8 except for F4 and the F6 types.
unsigned dtypeBits(DType type);
/// Bytes of `count` elements; nullopt on overflow or if the last byte is
/// incomplete.
std::optional<uint64_t> dtypeBytes(DType type, uint64_t count);
/// Bytes of a tensor with this shape; nullopt if a dimension is negative.
std::optional<uint64_t> tensorBytes(DType type,
                                    const std::vector<int64_t> &shape);
/// The dimensions' product (1 for rank 0); nullopt if a dimension is negative
/// or the product exceeds int64.
std::optional<int64_t> elementCount(const std::vector<int64_t> &shape);

/// True for F64, F32, F16 and BF16.
bool isFloat(DType type);
/// True for the signed and unsigned integers and Bool.
bool isInteger(DType type);

/// Converts `count` elements to f32 (to nearest even where inexact). `in` needs
/// no alignment. Returns false if the type has no conversion.
bool convertToF32(DType type, const void *in, size_t count, float *out);
/// Converts `count` integer or Bool elements to int64; returns false for other
/// types. U64 values beyond int64 wrap.
bool convertToI64(DType type, const void *in, size_t count, int64_t *out);

/// IEEE half and bfloat16 to and from f32, to nearest even; NaN stays NaN.
float halfToFloat(uint16_t bits);
float bfloat16ToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
uint16_t floatToBfloat16(float value);

/// Formats a shape for error messages: `[2, 3]`.
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace transom
