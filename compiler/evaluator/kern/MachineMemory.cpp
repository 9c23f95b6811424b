// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements as bytes on a little-endian machine.
#include "compiler/evaluator/kern/MachineMemory.h"
#include "mlir/IR/BuiltinTypes.h"
#include <cmath>

using namespace mlir;

namespace transom {

template <typename T> static T load(const char *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// The float64 for f32 bits. Denormals keep their value, even in a
/// floating-point mode that flushes them.
static double widen(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  const uint32_t fraction = bits & 0x7fffff;
  if ((bits >> 23 & 0xff) != 0 || fraction == 0)
    return value;
  const double magnitude = fraction * 0x1p-149;
  return bits >> 31 ? -magnitude : magnitude;
}

/// Decodes consecutive elements in memory.
template <typename T, typename Decode>
static void decodeRow(const char *bytes, MutableArrayRef<Number> row,
                      Decode decode) {
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = decode(load<T>(bytes + i * sizeof(T)));
}

int32_t MachineMemory::add(MachineBytes before, int64_t width) {
  MachineBuffer buffer;
  buffer.before = before;
  buffer.width = width;
  all.push_back(std::move(buffer));
  return static_cast<int32_t>(all.size()) - 1;
}

bool MachineMemory::contains(const MachineBuffer &buffer, int64_t offset,
                             const char *how) {
  if (offset >= 0 && offset + buffer.width <= buffer.before.size)
    return true;
  fail(how + (" byte " + std::to_string(offset)) + " of a buffer of " +
       std::to_string(buffer.before.size));
  return false;
}

Number MachineMemory::read(int32_t buffer, int64_t offset, Type element) {
  const MachineBuffer &from = all[buffer];
  if (!contains(from, offset, "reads") || !from.before.data)
    return std::numeric_limits<double>::quiet_NaN();
  const int64_t index = offset / from.width;
  if (!from.values.empty() && from.written[index])
    return from.values[index];
  return decodeElement(element, from.before.data + offset);
}

void MachineMemory::readRow(int32_t buffer, int64_t offset, Type element,
                            MutableArrayRef<Number> row) {
  const MachineBuffer &from = all[buffer];
  const auto count = static_cast<int64_t>(row.size());
  const char *bytes = from.before.data + offset;
  const bool isAsBefore = from.before.data && from.values.empty() &&
                          offset >= 0 &&
                          offset + count * from.width <= from.before.size;
  if (isAsBefore && element.isF32())
    return decodeRow<uint32_t>(bytes, row, widen);
  if (isAsBefore && element.isBF16())
    return decodeRow<uint16_t>(bytes, row,
                               [](uint32_t bits) { return widen(bits << 16); });
  for (int64_t i = 0; i < count; ++i)
    row[i] = read(buffer, offset + i * from.width, element);
}

void MachineMemory::write(int32_t buffer, int64_t offset, Number value,
                          Operation *by) {
  MachineBuffer &to = all[buffer];
  to.writer = by;
  if (!contains(to, offset, "writes"))
    return;
  if (to.values.empty()) {
    to.values.resize(to.before.size / to.width);
    to.written.resize(to.values.size());
  }
  to.values[offset / to.width] = value;
  to.written[offset / to.width] = true;
}

void MachineMemory::scratch(int32_t buffer, Operation *by) {
  all[buffer].isScratch = true;
  all[buffer].writer = by;
}

Number decodeElement(Type element, const char *bytes) {
  if (element.isF32())
    return widen(load<uint32_t>(bytes));
  if (element.isBF16())
    return widen(uint32_t(load<uint16_t>(bytes)) << 16);
  if (element.isInteger(64))
    return static_cast<double>(load<int64_t>(bytes));
  if (element.isInteger(32))
    return static_cast<double>(load<int32_t>(bytes));
  return static_cast<double>(load<int8_t>(bytes));
}

/// The nearest bf16, rounding ties to even.
static uint16_t getBf16(float value) {
  const auto bits = load<uint32_t>(reinterpret_cast<const char *>(&value));
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <typename T> static void store(T value, char *bytes) {
  std::memcpy(bytes, &value, sizeof value);
}

void encodeElement(Type element, Number number, char *bytes) {
  if (element.isF32())
    return store(static_cast<float>(number.real()), bytes);
  if (element.isBF16())
    return store(getBf16(static_cast<float>(number.real())), bytes);
  const auto whole = static_cast<int64_t>(number);
  if (element.isInteger(64))
    return store(whole, bytes);
  if (element.isInteger(32))
    return store(static_cast<int32_t>(whole), bytes);
  store(static_cast<int8_t>(whole), bytes);
}

} // namespace transom
