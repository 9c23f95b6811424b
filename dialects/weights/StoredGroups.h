// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that files hold as whole numbers. A file tensor that is stored in
// groups has elements, and scales and perhaps minimums of its groups. An
// expression that moves whole rows of such tensors has them, too: the same
// expression over each of these fields.
#pragma once
#include "dialects/weights/WeightExpr.h"
#include "runtime/base/OperandFormat.h"
#include <optional>
#include <string>

namespace transom {

/// How the rows of a file tensor are stored, whatever their bytes look like.
/// The numbers of a group are
///   element * scale + minimum
/// in f32, where the product is exact.
struct StoredGroups {
  StorageType element = StorageType::I8;
  int64_t group = 0; ///< numbers along a row with one scale
  int64_t depth = 0; ///< numbers of a row, which are whole groups
  bool minimums = false;

  bool operator==(const StoredGroups &other) const;
  int64_t getNumGroups() const { return (depth + group - 1) / group; }
  /// The format of packed panels that holds such whole numbers, or nothing.
  /// Scales and minimums are rounded to its types.
  std::optional<OperandFormat> getFormat() const;
  /// `i8, 32, 4096` or `ui4, 32, 4096, minimums`.
  std::string str() const;
  /// What is wrong with it, or nothing.
  std::optional<std::string> findError() const;
};

/// Makes numbers of a block of elements, `count` of each row from number
/// `first` on: times the scale of their group, plus its minimum where there are
/// minimums. Scales and minimums are of the groups in which a row has elements.
void scaleElements(const StoredGroups &groups, int64_t first, int64_t count,
                   const std::vector<float> &scales,
                   const std::vector<float> &minimums, float *elements);

/// The fields of what is stored in groups, as f32. Those of groups have the
/// shape of the whole with the number of groups as the last dimension.
enum class StoredField { Elements, Scales, Minimums };

/// A tensor [rows, depth] of a file that is stored in groups.
class StoredTensor {
public:
  explicit StoredTensor(const StoredGroups &groups) : groups(groups) {}
  virtual ~StoredTensor() = default;
  /// A block of a field, dense. `first` and `count` are groups for the fields
  /// of groups.
  virtual void read(StoredField field, int64_t row, int64_t rows, int64_t first,
                    int64_t count, float *out) const = 0;
  /// The numbers of a block; false where a scale or minimum is not finite.
  bool readNumbers(int64_t row, int64_t rows, int64_t first, int64_t count,
                   float *out) const;
  const StoredGroups &getGroups() const { return groups; }

private:
  const StoredGroups groups;
};

/// An expression over the fields of stored tensors.
struct StoredExpr {
  StoredGroups groups;
  WeightExpr elements, scales;
  std::optional<WeightExpr> minimums;
};

/// The fields of a matrix [n, k] that is made of whole rows of stored tensors
/// with groups of one size, perhaps scaled; nothing for another expression.
std::optional<StoredExpr> splitStored(const WeightExpr &e);
/// The same where the panels of this format hold the whole numbers.
std::optional<StoredExpr> splitStored(const WeightExpr &e,
                                      const OperandFormat &format);
/// True for an expression over a stored tensor, whatever it makes of it.
bool readsStored(const WeightExpr &e);
/// The format that holds the whole numbers of an expression: `rounded` where
/// none does, empty where files have none.
std::string getStoredFormat(const WeightExpr &e);

/// The rows of a stored expression.
struct StoredRows {
  std::vector<float> elements, scales, minimums;
};
/// Evaluates some rows of all fields.
Result<StoredRows> evaluateStored(const StoredExpr &e,
                                  const TensorSource &source, int64_t row,
                                  int64_t rows);

} // namespace transom
