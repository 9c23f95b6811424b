// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checked metadata values, and the tensor type table.
#include "compiler/import/gguf/Gguf.h"
#include "compiler/import/gguf/GgufBytes.h"

namespace transom::gguf {

std::string_view describe(ValueType type) {
  static constexpr std::string_view names[] = {
      "uint8",  "int8",     "uint16",   "int16",  "uint32", "int32",  "float32",
      "a bool", "a string", "an array", "uint64", "int64",  "float64"};
  const auto number = static_cast<uint32_t>(type);
  return number < std::size(names) ? names[number] : "of an unknown type";
}

std::optional<int64_t> Value::asInt() const {
  switch (kind) {
  case ValueType::Uint8:
    return load<uint8_t>(bytes);
  case ValueType::Int8:
    return load<int8_t>(bytes);
  case ValueType::Uint16:
    return load<uint16_t>(bytes);
  case ValueType::Int16:
    return load<int16_t>(bytes);
  case ValueType::Uint32:
    return load<uint32_t>(bytes);
  case ValueType::Int32:
    return load<int32_t>(bytes);
  case ValueType::Int64:
    return load<int64_t>(bytes);
  case ValueType::Uint64:
    if (uint64_t number = load<uint64_t>(bytes); number <= INT64_MAX)
      return static_cast<int64_t>(number);
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<double> Value::asNumber() const {
  if (kind == ValueType::Float32)
    return load<float>(bytes);
  if (kind == ValueType::Float64)
    return load<double>(bytes);
  if (std::optional<int64_t> number = asInt())
    return static_cast<double>(*number);
  return std::nullopt;
}

std::optional<std::string_view> Value::asBytes() const {
  const bool isByte =
      elementKind == ValueType::Uint8 || elementKind == ValueType::Int8;
  return isArray() && isByte ? std::optional(bytes.substr(0, elements))
                             : std::nullopt;
}

std::optional<bool> Value::asBool() const {
  if (kind != ValueType::Bool)
    return std::nullopt;
  return bytes[0] != 0;
}

std::optional<std::string_view> Value::asString() const {
  if (kind != ValueType::String)
    return std::nullopt;
  return bytes.substr(8);
}

std::vector<Value> Value::asArray() const {
  std::vector<Value> values;
  if (kind != ValueType::Array)
    return values;
  std::string_view rest = bytes;
  for (uint64_t i = 0; i < elements; ++i) {
    const uint64_t offset = at + (rest.data() - bytes.data());
    const uint64_t size = measureChecked(elementKind, rest);
    if (elementKind == ValueType::Array)
      values.emplace_back(static_cast<ValueType>(load<uint32_t>(rest)),
                          load<uint64_t>(rest.substr(4)), offset + 12,
                          rest.substr(12, size - 12));
    else
      values.emplace_back(elementKind, offset, rest.substr(0, size));
    rest.remove_prefix(size);
  }
  return values;
}

const TensorType *findTensorType(uint32_t number) {
  static const TensorType types[] = {
      {0, "F32", 1, 4, DType::F32},    {1, "F16", 1, 2, DType::F16},
      {2, "Q4_0", 32, 18, {}},         {3, "Q4_1", 32, 20, {}},
      {6, "Q5_0", 32, 22, {}},         {7, "Q5_1", 32, 24, {}},
      {8, "Q8_0", 32, 34, {}},         {9, "Q8_1", 32, 36, {}},
      {10, "Q2_K", 256, 84, {}},       {11, "Q3_K", 256, 110, {}},
      {12, "Q4_K", 256, 144, {}},      {13, "Q5_K", 256, 176, {}},
      {14, "Q6_K", 256, 210, {}},      {15, "Q8_K", 256, 292, {}},
      {16, "IQ2_XXS", 256, 66, {}},    {17, "IQ2_XS", 256, 74, {}},
      {18, "IQ3_XXS", 256, 98, {}},    {19, "IQ1_S", 256, 50, {}},
      {20, "IQ4_NL", 32, 18, {}},      {21, "IQ3_S", 256, 110, {}},
      {22, "IQ2_S", 256, 82, {}},      {23, "IQ4_XS", 256, 136, {}},
      {24, "I8", 1, 1, DType::I8},     {25, "I16", 1, 2, DType::I16},
      {26, "I32", 1, 4, DType::I32},   {27, "I64", 1, 8, DType::I64},
      {28, "F64", 1, 8, DType::F64},   {29, "IQ1_M", 256, 56, {}},
      {30, "BF16", 1, 2, DType::BF16}, {34, "TQ1_0", 256, 54, {}},
      {35, "TQ2_0", 256, 66, {}},      {39, "MXFP4", 32, 17, {}},
      {40, "NVFP4", 64, 36, {}},       {41, "Q1_0", 128, 18, {}}};
  for (const TensorType &type : types)
    if (type.number == number)
      return &type;
  return nullptr;
}

} // namespace transom::gguf
