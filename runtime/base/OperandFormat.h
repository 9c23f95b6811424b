// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The storage of a GEMM operand: element type, groups along K with a shared
// scale, and the interleaving of elements in a panel. One class per format
// packs and unpacks panels; `OperandLowering` in passes/lower emits code for
// it. To add a format see docs/extending.md.
#pragma once
#include "runtime/base/DType.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// Element types in packed operands, and scale types.
enum class StorageType { F32, F16, BF16, I8, U8, I4, U4 };

/// Bits per element.
int64_t getStorageBits(StorageType type);
/// Its name in the IR: `f32`, `ui4`.
const char *getStorageName(StorageType type);
/// The type with this name, or nullopt.
std::optional<StorageType> parseStorageType(std::string_view name);
/// True for integers, which need scales.
bool isIntegerStorage(StorageType type);
/// The largest integer magnitude, to which a scale maps; 0 for floats.
int64_t getMaxMagnitude(StorageType type);
/// The smallest stored integer: -127, -8, or 0 if unsigned.
int64_t getLowest(StorageType type);
/// Rounds a value to nearest even as in float types narrower than f32. Other
/// types return the value: f32 is exact enough, integers need their scale.
double roundToStorage(StorageType type, double value);

/// Quantization group sizes along K for integer weights. The sum of products in
/// a group, each at most 127 * 127, is exact in f32.
inline constexpr int64_t quantizedGroups[] = {32, 64, 128, 256, 512, 1024};
/// Their text for messages and help.
inline constexpr char quantizedGroupNames[] = "32, 64, 128, 256, 512, 1024";

/// Cache types, as in `--kv-dtype` and `transom.kv_dtype`.
std::vector<std::string> getCacheOptions();
/// The type for such a value, or nullopt.
std::optional<StorageType> parseCacheOption(std::string_view option);
/// True for a cache type.
bool isCacheStorage(StorageType type);
/// The cache types' names in the IR.
std::vector<std::string> getCacheStorageNames();

/// The storage format of an operand. A value is
///   element * scale + minimum
/// with a scale (and optionally a minimum) per `group` elements along K. With
/// `block` scales and minimums are integers, multiplied by one factor per
/// `block` elements.
struct OperandFormat {
  StorageType element = StorageType::F32;
  int64_t group = 0; ///< quantization group size along K; 0: none, or a cache
  std::optional<StorageType> scales;
  std::optional<StorageType> minimums;
  int64_t block = 0; ///< elements along K that share block scales; 0: none
  std::optional<StorageType> blockScales;
  int64_t interleave = 1; ///< elements along K that are adjacent in a panel

  OperandFormat() = default;
  /// The plain format for this type: f32, or bf16 in pairs.
  OperandFormat(DType type); // NOLINT: a type is a format
  explicit OperandFormat(StorageType type);
  /// The format for row-major elements of this type.
  static OperandFormat getRows(StorageType type);
  /// The format for integer weights with a scale per `group` elements along K:
  /// i8 with interleave 4 and f32 scales; i4 and ui4 with interleave 8 and f16
  /// scales; ui4 also has f16 minimums.
  static OperandFormat getQuantized(StorageType type, int64_t group);
  /// The same with another float type for scales and minimums.
  OperandFormat withScales(StorageType type) const;
  /// The integer weight formats for which GEMM code exists.
  static std::vector<OperandFormat> getQuantizedFormats();
  /// The format for keys and values in a cache. Integers have one f32 scale per
  /// head and position, in a separate table.
  static OperandFormat getCache(StorageType type);

  bool operator==(const OperandFormat &other) const;

  /// Nullopt if the format is valid, else the violated rule, with its number in
  /// `#kern.format`.
  std::optional<std::string> findError() const;
  /// True if values are elements times a scale.
  bool hasScales() const { return scales.has_value(); }
  /// The element type required for the other GEMM operand.
  StorageType getOperandType() const;

  /// True if GEMMs sum integers group by group.
  bool isGrouped() const { return group != 0; }

  /// Stored K: zero-padded to whole blocks and, if elements are interleaved, to
  /// `depthAlignment`. The last group may be short.
  int64_t getPaddedDepth(int64_t depth) const;
  /// Groups along K.
  int64_t getNumGroups(int64_t depth) const;
  /// Bytes per element, for types with whole bytes.
  int64_t getElementBytes() const { return getStorageBits(element) / 8; }
  /// Bytes per column in one K step of a panel: `interleave` elements.
  int64_t getColumnBytes() const;
  /// Bytes per K step in a panel.
  int64_t getStepBytes() const;
  /// Bytes of a group's elements in a panel, followed by its scales; for the
  /// last group, which may be short, by its size.
  int64_t getGroupBytes() const { return getGroupBytes(group); }
  int64_t getGroupBytes(int64_t size) const;
  /// Bytes per column scale.
  int64_t getScaleBytes() const { return getStorageBits(*scales) / 8; }
  /// Bytes of the scales and minimums after a group in a panel.
  int64_t getGroupScaleBytes() const;
  /// Bytes per 32-column panel with its scales.
  int64_t getPanelBytes(int64_t depth) const;
  /// `bf16, interleave 2`; the text between `#kern.format<` and `>`.
  std::string str() const;
};

/// Packs and unpacks panels in one format.
class PanelCodec {
public:
  virtual ~PanelCodec() = default;
  /// Packs [count][depth] rows, at most 32, into one panel; `out` is zero
  /// before. Scales are computed by `quantizeGroup`, with an optional
  /// importance per element along K.
  virtual void pack(const float *rows, int64_t count, int64_t depth, char *out,
                    const float *importance = nullptr) const = 0;
  /// The same for integer rows with known scales, [count][groups per row]; for
  /// formats with scales.
  virtual void packGiven(const float *elements, const float *scales,
                         const float *minimums, int64_t count, int64_t depth,
                         char *out) const;
  /// Unpacks a panel to rows.
  virtual void unpack(const char *panel, int64_t count, int64_t depth,
                      float *rows) const = 0;
};

/// The codec for a format, or null if no codec exists.
const PanelCodec *findPanelCodec(const OperandFormat &format);

} // namespace transom
