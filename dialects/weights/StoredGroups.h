// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that files contain in quantized form. A pre-quantized file tensor has
// elements, and scales and optional minimums for its groups. An expression that
// moves whole rows from such tensors also has these fields: the same expression
// over each field.
#pragma once
#include "dialects/weights/WeightExpr.h"
#include "runtime/base/OperandFormat.h"
#include <optional>
#include <string>

namespace transom {

/// The quantization of a file tensor's rows, independent of the byte format. A
/// value in a group is
///   element * scale + minimum
/// in f32, where the multiplication is exact.
struct StoredGroups {
  StorageType element = StorageType::I8;
  int64_t group = 0; ///< quantization group size along a row
  int64_t depth = 0; ///< elements per row, in whole groups
  bool minimums = false;

  bool operator==(const StoredGroups &other) const;
  int64_t getNumGroups() const { return (depth + group - 1) / group; }
  /// The panel format for these integers, or nullopt. Scales and minimums are
  /// rounded to its types.
  std::optional<OperandFormat> getFormat() const;
  /// `i8, 32, 4096` or `ui4, 32, 4096, minimums`.
  std::string str() const;
  /// An error, or nullopt if valid.
  std::optional<std::string> findError() const;
};

/// Dequantizes a block, `count` elements per row from element `first` on:
/// multiplies by the group's scale and adds the minimum, if any. Scales and
/// minimums are for the groups in which a row has elements.
void scaleElements(const StoredGroups &groups, int64_t first, int64_t count,
                   const std::vector<float> &scales,
                   const std::vector<float> &minimums, float *elements);

/// The fields of a pre-quantized tensor, as f32. Scales and minimums have the
/// tensor's shape with the group count as the last dimension.
enum class StoredField { Elements, Scales, Minimums };

/// A pre-quantized file tensor [rows, depth].
class StoredTensor {
public:
  explicit StoredTensor(const StoredGroups &groups) : groups(groups) {}
  virtual ~StoredTensor() = default;
  /// Reads a block from a field, dense. For scales and minimums `first` and
  /// `count` are groups.
  virtual void read(StoredField field, int64_t row, int64_t rows, int64_t first,
                    int64_t count, float *out) const = 0;
  /// Reads dequantized values; false if a scale or minimum is not finite.
  bool readNumbers(int64_t row, int64_t rows, int64_t first, int64_t count,
                   float *out) const;
  const StoredGroups &getGroups() const { return groups; }

private:
  const StoredGroups groups;
};

/// An expression over the fields of pre-quantized tensors.
struct StoredExpr {
  StoredGroups groups;
  WeightExpr elements, scales;
  std::optional<WeightExpr> minimums;
};

/// Splits a matrix [n, k] into its fields if it consists of whole rows from
/// pre-quantized tensors with equal group size, optionally scaled; nullopt for
/// other expressions.
std::optional<StoredExpr> splitStored(const WeightExpr &e);
/// The same if panels in this format can hold the integers.
std::optional<StoredExpr> splitStored(const WeightExpr &e,
                                      const OperandFormat &format);
/// True if an expression reads a pre-quantized tensor.
bool readsStored(const WeightExpr &e);
/// The format that holds an expression's integers: `rounded` without such a
/// format, empty if no tensor is pre-quantized.
std::string getStoredFormat(const WeightExpr &e);

/// Rows from a pre-quantized expression.
struct StoredRows {
  std::vector<float> elements, scales, minimums;
};
/// Evaluates a range of rows for all fields.
Result<StoredRows> evaluateStored(const StoredExpr &e,
                                  const TensorSource &source, int64_t row,
                                  int64_t rows);

} // namespace transom
