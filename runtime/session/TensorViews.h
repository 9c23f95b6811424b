// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Access to the caller's tensors by derived entries, with any strides.
#pragma once
#include "runtime/execute/Call.h"
#include <algorithm>
#include <cstring>

namespace transom {

/// The caller's integers [batch, columns], read in place; an absent tensor
/// reads as 1.
class IntegerView {
public:
  IntegerView(const transom_tensor *tensor, int64_t columns) : tensor(tensor) {
    if (!tensor)
      return;
    bool dense = tensor->strides[0] == 0 && tensor->strides[1] == 0;
    rowStride = dense ? columns : tensor->strides[0];
    columnStride = dense ? 1 : tensor->strides[1];
  }
  int64_t operator()(int64_t row, int64_t column) const {
    if (!tensor)
      return 1;
    int64_t at = row * rowStride + column * columnStride;
    auto data = static_cast<const char *>(tensor->data);
    if (tensor->dtype == TRANSOM_DTYPE_I64) {
      int64_t value;
      std::memcpy(&value, data + at * 8, sizeof value);
      return value;
    }
    int32_t value;
    std::memcpy(&value, data + at * 4, sizeof value);
    return value;
  }

private:
  const transom_tensor *tensor;
  int64_t rowStride = 0, columnStride = 0;
};

/// A float result in the caller's or the session's memory.
class FloatsOut {
public:
  FloatsOut(void *data, const ShapeValue &shape, const int64_t *given)
      : data(static_cast<char *>(data)), shape(shape) {
    bool dense = !given || std::all_of(given, given + shape.rank,
                                       [](int64_t s) { return s == 0; });
    int64_t stride = 1;
    for (int64_t i = shape.rank; i-- != 0; stride *= shape.dims[i])
      strides[i] = dense ? stride : given[i];
  }
  void set(int64_t offset, float value) {
    std::memcpy(data + offset * int64_t(sizeof value), &value, sizeof value);
  }
  /// Returns the offset of element [row, column].
  int64_t at(int64_t row, int64_t column) const {
    return row * strides[0] + column * strides[1];
  }
  /// Writes the last dimension, which begins at `offset`.
  void setRow(int64_t offset, const float *values) {
    int64_t last = shape.rank - 1, width = shape.dims[last];
    if (strides[last] == 1) {
      std::memcpy(data + offset * int64_t(sizeof(float)), values,
                  size_t(width) * sizeof(float));
      return;
    }
    for (int64_t i = 0; i != width; ++i)
      set(offset + i * strides[last], values[i]);
  }
  /// Writes zeros to the last dimension, which begins at `offset`.
  void clearRow(int64_t offset) {
    int64_t last = shape.rank - 1;
    for (int64_t i = 0; i != shape.dims[last]; ++i)
      set(offset + i * strides[last], 0);
  }
  int64_t rowStride() const { return strides[0]; }

private:
  char *data;
  ShapeValue shape;
  int64_t strides[TRANSOM_MAX_RANK];
};

/// Token ids [batch, columns] in a call: with a mask, or labels with -100 for
/// no token.
class TokenRows {
public:
  /// Input `ids`, with the mask in the next input.
  static TokenRows fromMask(const Entry &entry, const Call &call, size_t ids);
  /// Input `labels`; ids are in [0, bound).
  static TokenRows fromLabels(const Entry &entry, const Call &call,
                              size_t labels, int64_t bound);

  /// Checks a row; returns its token count. `all`: ids that are not tokens must
  /// also be in range.
  Result<int64_t> check(int64_t row, bool all = false) const;
  int64_t count(int64_t row) const;

  int64_t operator()(int64_t row, int64_t column) const {
    return ids(row, column);
  }
  bool isToken(int64_t row, int64_t column) const {
    return isLabels ? ids(row, column) != noLabel : mask(row, column) != 0;
  }
  /// Returns the first column from `column` on with a token, or `columns`.
  int64_t getNext(int64_t row, int64_t column) const {
    while (column < columns && !isToken(row, column))
      ++column;
    return column;
  }
  /// Returns the last column before `column` with a token, or -1.
  int64_t getPrevious(int64_t row, int64_t column) const {
    while (--column >= 0 && !isToken(row, column))
      ;
    return column;
  }

  int64_t columns;

private:
  static constexpr int64_t noLabel = -100;
  TokenRows(const Argument &argument, const transom_tensor *ids,
            const transom_tensor *mask, int64_t columns)
      : columns(columns), argument(&argument), ids(ids, columns),
        mask(mask, columns), bound(argument.bound.value_or(INT64_MAX)) {}

  const Argument *argument; ///< for the ids
  const Argument *maskArgument = nullptr;
  IntegerView ids, mask;
  bool isLabels = false;
  int64_t bound;
};

} // namespace transom
