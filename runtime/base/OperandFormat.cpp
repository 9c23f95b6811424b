// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operand format sizes and rules.
#include "runtime/base/OperandFormat.h"
#include "runtime/abi/Layout.h"
#include <cassert>

using namespace transom;

//===----------------------------------------------------------------------===//
// Storage types
//===----------------------------------------------------------------------===//

namespace {
struct StorageEntry {
  StorageType type;
  const char *name;
  int64_t bits;
  int64_t maxMagnitude; ///< for integers
  int64_t lowest;       ///< min integer
  int64_t interleave;   ///< in the plain format
  StorageType operand;  ///< element type for the other GEMM operand
  const char *cache;    ///< value of `--kv-dtype`; null: not a cache type
  double (*round)(double);
};

double keep(double value) { return value; }
double roundToF16(double value) {
  return halfToFloat(floatToHalf(static_cast<float>(value)));
}
double roundToBf16(double value) {
  return bfloat16ToFloat(floatToBfloat16(static_cast<float>(value)));
}

constexpr StorageType F32 = StorageType::F32;
constexpr StorageEntry storageTypes[] = {
    {F32, "f32", 32, 0, 0, 1, F32, "f32", keep},
    {StorageType::F16, "f16", 16, 0, 0, 1, F32, nullptr, roundToF16},
    {StorageType::BF16, "bf16", 16, 0, 0, 2, StorageType::BF16, "bf16",
     roundToBf16},
    {StorageType::I8, "i8", 8, 127, -127, 1, F32, "int8", keep},
    {StorageType::U8, "ui8", 8, 255, 0, 1, F32, nullptr, keep},
    {StorageType::I4, "i4", 4, 7, -8, 1, F32, nullptr, keep},
    {StorageType::U4, "ui4", 4, 15, 0, 1, F32, nullptr, keep},
};
const StorageEntry &getEntry(StorageType type) {
  return storageTypes[static_cast<size_t>(type)];
}
} // namespace

int64_t transom::getStorageBits(StorageType type) {
  return getEntry(type).bits;
}
const char *transom::getStorageName(StorageType type) {
  return getEntry(type).name;
}
bool transom::isIntegerStorage(StorageType type) {
  return getMaxMagnitude(type) != 0;
}
int64_t transom::getMaxMagnitude(StorageType type) {
  return getEntry(type).maxMagnitude;
}

int64_t transom::getLowest(StorageType type) { return getEntry(type).lowest; }

std::optional<StorageType> transom::parseStorageType(std::string_view name) {
  for (const StorageEntry &entry : storageTypes)
    if (name == entry.name)
      return entry.type;
  return std::nullopt;
}

double transom::roundToStorage(StorageType type, double value) {
  return getEntry(type).round(value);
}

bool transom::isCacheStorage(StorageType type) {
  return getEntry(type).cache != nullptr;
}

std::vector<std::string> transom::getCacheOptions() {
  std::vector<std::string> options;
  for (const StorageEntry &entry : storageTypes)
    if (entry.cache)
      options.emplace_back(entry.cache);
  return options;
}

std::vector<std::string> transom::getCacheStorageNames() {
  std::vector<std::string> names;
  for (const StorageEntry &entry : storageTypes)
    if (entry.cache)
      names.emplace_back(entry.name);
  return names;
}

std::optional<StorageType> transom::parseCacheOption(std::string_view option) {
  for (const StorageEntry &entry : storageTypes)
    if (entry.cache && option == entry.cache)
      return entry.type;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// OperandFormat
//===----------------------------------------------------------------------===//

OperandFormat::OperandFormat(StorageType type)
    : element(type), interleave(getEntry(type).interleave) {}

OperandFormat::OperandFormat(DType type)
    : OperandFormat(type == DType::BF16 ? StorageType::BF16
                                        : StorageType::F32) {
  assert((type == DType::F32 || type == DType::BF16) &&
         "only f32 and bf16 are plain formats");
}

OperandFormat OperandFormat::getRows(StorageType type) {
  OperandFormat format(type);
  format.interleave = 1;
  return format;
}

OperandFormat OperandFormat::getQuantized(StorageType type, int64_t group) {
  OperandFormat format(type);
  const bool isByte = getStorageBits(type) == 8;
  format.group = group;
  format.scales = isByte ? StorageType::F32 : StorageType::F16;
  if (type == StorageType::U4)
    format.minimums = StorageType::F16;
  format.interleave = isByte ? 4 : 8;
  return format;
}

OperandFormat OperandFormat::withScales(StorageType type) const {
  OperandFormat format = *this;
  format.scales = type;
  if (minimums)
    format.minimums = type;
  return format;
}

std::vector<OperandFormat> OperandFormat::getQuantizedFormats() {
  std::vector<OperandFormat> formats;
  for (StorageType type : {StorageType::I8, StorageType::I4, StorageType::U4})
    for (int64_t group : quantizedGroups)
      formats.push_back(getQuantized(type, group));
  // Formats into which the compiler quantizes floats.
  for (int64_t group : quantizedGroups)
    formats.push_back(
        getQuantized(StorageType::I8, group).withScales(StorageType::F16));
  // Formats in files: f16 scales with zero points; at most 5 bits per element.
  for (int64_t group : {64, 128})
    formats.push_back(
        getQuantized(StorageType::U4, group).withScales(StorageType::F32));
  return formats;
}

OperandFormat OperandFormat::getCache(StorageType type) {
  OperandFormat format(type);
  if (isIntegerStorage(type))
    format.scales = StorageType::F32;
  return format;
}

StorageType OperandFormat::getOperandType() const {
  return isGrouped() ? StorageType::I8 : getEntry(element).operand;
}

bool OperandFormat::operator==(const OperandFormat &other) const {
  return element == other.element && group == other.group &&
         scales == other.scales && minimums == other.minimums &&
         block == other.block && blockScales == other.blockScales &&
         interleave == other.interleave;
}

std::optional<std::string> OperandFormat::findError() const {
  // Check the interleave and the group.
  const int64_t stepBits = interleave * getStorageBits(element);
  if (interleave < 1 || interleave > 8 || (interleave & (interleave - 1)) ||
      stepBits % 8)
    return "(1) expects an interleave of 1, 2, 4 or 8 that makes whole bytes, "
           "got " +
           std::to_string(interleave);
  if (group < 0 || bool(group) != bool(scales) ||
      (isIntegerStorage(element) && !scales) ||
      (!isIntegerStorage(element) && scales))
    return "(2) expects a group with scales for integers, and only for them";
  if (group % interleave || group % 8)
    return "(3) expects a group that is a multiple of 8 and of the interleave, "
           "got " +
           std::to_string(group);
  // Check minimums and blocks.
  if (minimums && !scales)
    return "(4) expects minimums beside scales only";
  if (block < 0 || bool(block) != bool(blockScales) ||
      (block && (!group || block % group)))
    return "(5) expects a block that is a multiple of the group, with scales, "
           "got " +
           std::to_string(block);
  // Check the scale types.
  for (std::optional<StorageType> type : {scales, minimums})
    if (type && isIntegerStorage(*type) != bool(block))
      return std::string("(6) expects ") +
             (block ? "integers below block scales" : "scales of floats") +
             ", got '" + getStorageName(*type) + "'";
  if (blockScales && isIntegerStorage(*blockScales))
    return std::string("(7) expects block scales of floats, got '") +
           getStorageName(*blockScales) + "'";
  return std::nullopt;
}

static int64_t alignUp(int64_t value, int64_t to) {
  return to > 1 ? (value + to - 1) / to * to : value;
}

int64_t OperandFormat::getPaddedDepth(int64_t depth) const {
  int64_t padded = interleave > 1 ? alignUp(depth, depthAlignment) : depth;
  return alignUp(padded, block);
}

int64_t OperandFormat::getNumGroups(int64_t depth) const {
  return group ? alignUp(depth, group) / group : 0;
}

int64_t OperandFormat::getColumnBytes() const {
  return interleave * getStorageBits(element) / 8;
}

int64_t OperandFormat::getStepBytes() const {
  return panelWidth * getColumnBytes();
}

int64_t OperandFormat::getGroupBytes(int64_t size) const {
  return getPaddedDepth(size) / interleave * getStepBytes();
}

int64_t OperandFormat::getGroupScaleBytes() const {
  int64_t bits = 0;
  for (std::optional<StorageType> type : {scales, minimums})
    bits += type ? getStorageBits(*type) : 0;
  return panelWidth * bits / 8;
}

int64_t OperandFormat::getPanelBytes(int64_t depth) const {
  const int64_t padded = getPaddedDepth(depth);
  int64_t bytes = padded / interleave * getStepBytes();
  auto addScales = [&](std::optional<StorageType> type, int64_t count) {
    if (type)
      bytes += panelWidth * count * getStorageBits(*type) / 8;
  };
  addScales(scales, getNumGroups(padded));
  addScales(minimums, getNumGroups(padded));
  // One factor for the scales, and one for the minimums if present.
  const int64_t blocks = block ? padded / block : 0;
  addScales(blockScales, blocks);
  if (minimums)
    addScales(blockScales, blocks);
  return bytes;
}

std::string OperandFormat::str() const {
  std::string text = getStorageName(element);
  if (group)
    text += ", group " + std::to_string(group);
  if (scales)
    text += std::string(", scales ") + getStorageName(*scales);
  if (minimums)
    text += std::string(", minimums ") + getStorageName(*minimums);
  if (block)
    text += ", block " + std::to_string(block);
  if (blockScales)
    text += std::string(", block_scales ") + getStorageName(*blockScales);
  if (interleave != 1)
    text += ", interleave " + std::to_string(interleave);
  return text;
}
