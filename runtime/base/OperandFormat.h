// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How an operand of a product is stored: the type of its numbers, the groups
// along K that share a scale, and how numbers are interleaved in a panel. One
// class per format packs and unpacks panels; `OperandLowering` of passes/lower
// is the class that emits code for it. A new format: see
// docs/extending.md.
#pragma once
#include "runtime/base/DType.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// Types of numbers in packed operands and of their scales.
enum class StorageType { F32, F16, BF16, I8, U8, I4, U4 };

/// Bits of one number.
int64_t getStorageBits(StorageType type);
/// Its name as the IR spells it: `f32`, `ui4`.
const char *getStorageName(StorageType type);
/// The type of a name, nothing for another.
std::optional<StorageType> parseStorageType(std::string_view name);
/// True for whole numbers, which need scales.
bool isIntegerStorage(StorageType type);
/// The largest magnitude of whole numbers, which a scale maps to; 0 for floats.
int64_t getMaxMagnitude(StorageType type);
/// The least whole number that is stored: -127, -8, or 0 without a sign.
int64_t getLowest(StorageType type);
/// A number as float types narrower than f32 hold it, rounded to nearest even.
/// Other types keep it: f32 is exact enough, whole numbers need their scale.
double roundToStorage(StorageType type, double value);

/// Numbers along K with one scale, in weights that are whole numbers. The sum
/// of the products of a group, each at most 127 * 127, is exact in f32.
inline constexpr int64_t quantizedGroups[] = {32, 64, 128, 256, 512, 1024};
/// Their names in messages and texts.
inline constexpr char quantizedGroupNames[] = "32, 64, 128, 256, 512, 1024";

/// The values of `--kv-dtype` and of `transom.kv_dtype`: the types of caches.
std::vector<std::string> getCacheOptions();
/// The type of such a value, nothing for another.
std::optional<StorageType> parseCacheOption(std::string_view option);
/// True for a type of caches.
bool isCacheStorage(StorageType type);
/// The names of the types of caches, as the IR spells them.
std::vector<std::string> getCacheStorageNames();

/// How an operand is stored. Its numbers are
///   element * scale + minimum
/// with a scale (and perhaps a minimum) for each group of `group` numbers
/// along K. With `block` they are integers themselves: the scale of a group is
/// its integer times a factor for each `block` numbers, as is the minimum.
struct OperandFormat {
  StorageType element = StorageType::F32;
  int64_t group = 0; ///< numbers along K with a scale; 0: none, or a cache
  std::optional<StorageType> scales;
  std::optional<StorageType> minimums;
  int64_t block = 0; ///< numbers along K with one factor of scales; 0: none
  std::optional<StorageType> blockScales;
  int64_t interleave = 1; ///< numbers along K side by side in a panel

  OperandFormat() = default;
  /// The plain format of numbers of this type: f32, or bf16 in pairs.
  OperandFormat(DType type); // NOLINT: a type is a format
  explicit OperandFormat(StorageType type);
  /// The format of rows of numbers of this type, one after another.
  static OperandFormat getRows(StorageType type);
  /// The format of weights that are whole numbers with a scale for each `group`
  /// of them along K: of bytes four side by side and scales in f32; of i4 and
  /// ui4 eight side by side and scales in f16; ui4 has minimums in f16, too.
  static OperandFormat getQuantized(StorageType type, int64_t group);
  /// The same with scales and minimums of a type of floats.
  OperandFormat withScales(StorageType type) const;
  /// The formats of weights that are whole numbers, which code multiplies.
  static std::vector<OperandFormat> getQuantizedFormats();
  /// The format of keys and values in a cache. Whole numbers have one scale in
  /// f32 for each head of a position, in a table of its own.
  static OperandFormat getCache(StorageType type);

  bool operator==(const OperandFormat &other) const;

  /// Nothing when the format is valid, else the rule that it breaks; the number
  /// is that of `#kern.format`.
  std::optional<std::string> findError() const;
  /// True for a format whose numbers are their elements times a scale.
  bool hasScales() const { return scales.has_value(); }
  /// The type of the other operand of a product with this one.
  StorageType getOperandType() const;

  /// True for a format whose products sum whole numbers group by group.
  bool isGrouped() const { return group != 0; }

  /// K as it is stored: zero-padded to whole blocks and, unless numbers are not
  /// interleaved, to `depthAlignment`. The last group may be short.
  int64_t getPaddedDepth(int64_t depth) const;
  /// Groups along K.
  int64_t getNumGroups(int64_t depth) const;
  /// Bytes of one number, of a type of whole bytes.
  int64_t getElementBytes() const { return getStorageBits(element) / 8; }
  /// Bytes of one column in a step along K of a panel: `interleave` numbers.
  int64_t getColumnBytes() const;
  /// Bytes of one step along K of a panel.
  int64_t getStepBytes() const;
  /// Bytes of the elements of a group of a panel, which its scales follow; of
  /// the last one, which may be short, by its size.
  int64_t getGroupBytes() const { return getGroupBytes(group); }
  int64_t getGroupBytes(int64_t size) const;
  /// Bytes of the scale of a column.
  int64_t getScaleBytes() const { return getStorageBits(*scales) / 8; }
  /// Bytes of the scales and minimums that follow a group of a panel.
  int64_t getGroupScaleBytes() const;
  /// Bytes of a panel of 32 columns with its scales.
  int64_t getPanelBytes(int64_t depth) const;
  /// `bf16, interleave 2`; the text between `#kern.format<` and `>`.
  std::string str() const;
};

/// Packs and unpacks the panels of one format.
class PanelCodec {
public:
  virtual ~PanelCodec() = default;
  /// [count][depth] rows, at most 32 of them, to one panel; `out` is zero
  /// before. Scales are those of `quantizeGroup`, with the importance of each
  /// k if it is given.
  virtual void pack(const float *rows, int64_t count, int64_t depth, char *out,
                    const float *importance = nullptr) const = 0;
  /// The same for rows that are whole numbers with known scales, [count][groups
  /// of a row]; for formats with scales.
  virtual void packGiven(const float *elements, const float *scales,
                         const float *minimums, int64_t count, int64_t depth,
                         char *out) const;
  /// The rows that a panel holds.
  virtual void unpack(const char *panel, int64_t count, int64_t depth,
                      float *rows) const = 0;
};

/// The codec of a format, null for one that nothing packs yet.
const PanelCodec *findPanelCodec(const OperandFormat &format);

} // namespace transom
