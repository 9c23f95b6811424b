// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GGUF value layout in bytes.
#pragma once
#include "compiler/import/gguf/Gguf.h"
#include <cstring>

namespace transom::gguf {

/// Loads a little-endian value from the front of `bytes`, which is large
/// enough.
template <typename T> T load(std::string_view bytes) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  T number;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

/// Returns a numeric or bool type's size in bytes; 0 for strings, arrays and
/// unknown types.
constexpr uint64_t getFixedBytes(ValueType type) {
  switch (type) {
  case ValueType::Uint8:
  case ValueType::Int8:
  case ValueType::Bool:
    return 1;
  case ValueType::Uint16:
  case ValueType::Int16:
    return 2;
  case ValueType::Uint32:
  case ValueType::Int32:
  case ValueType::Float32:
    return 4;
  case ValueType::Uint64:
  case ValueType::Int64:
  case ValueType::Float64:
    return 8;
  default:
    return 0;
  }
}

/// Returns the min size of a value with this type, in bytes.
constexpr uint64_t getLeastBytes(ValueType type) {
  if (type == ValueType::Array)
    return 12; // type and count
  return type == ValueType::String ? 8 : getFixedBytes(type);
}

/// Returns the size in bytes of the checked value that `bytes` starts with.
inline uint64_t measureChecked(ValueType type, std::string_view bytes) {
  if (type == ValueType::String)
    return 8 + load<uint64_t>(bytes);
  if (type != ValueType::Array)
    return getFixedBytes(type);
  const auto element = static_cast<ValueType>(load<uint32_t>(bytes));
  const uint64_t count = load<uint64_t>(bytes.substr(4));
  if (uint64_t each = getFixedBytes(element))
    return 12 + count * each;
  uint64_t size = 12;
  for (uint64_t i = 0; i < count; ++i)
    size += measureChecked(element, bytes.substr(size));
  return size;
}

} // namespace transom::gguf
