// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first and the last row determine the diagonal and both values. Then all
// rows are compared with the formula.
#include "compiler/import/Triangles.h"
#include <algorithm>
#include <cmath>

using namespace transom;

namespace {

/// Reads rows from a tensor `[..., rows, columns]`.
class RowReader {
public:
  RowReader(const ModelFiles &files, const SafetensorsTensor &tensor)
      : files(files), tensor(tensor), offsets(tensor.shape.size(), 0),
        sizes(tensor.shape.size(), 1),
        row(static_cast<size_t>(tensor.shape.back())) {
    sizes.back() = tensor.shape.back();
  }

  /// Returns the row with this index; leading axes are counted in row-major
  /// order.
  Result<const std::vector<float> *> read(int64_t index) {
    for (size_t axis = offsets.size() - 1; axis-- > 0;) {
      offsets[axis] = index % tensor.shape[axis];
      index /= tensor.shape[axis];
    }
    TRANSOM_TRY(files.readAsF32(tensor.name, offsets, sizes, row.data()));
    return &row;
  }

private:
  const ModelFiles &files;
  const SafetensorsTensor &tensor;
  std::vector<int64_t> offsets, sizes;
  std::vector<float> row;
};

/// A triangle formula.
struct Triangle {
  int64_t rows = 0, columns = 0, diagonal = 0;
  float upTo = 0, after = 0;

  /// Returns the number of columns in a row that are not after the diagonal.
  int64_t getLength(int64_t index) const {
    return std::clamp<int64_t>(index % rows + diagonal + 1, 0, columns);
  }

  bool matches(const std::vector<float> &row, int64_t index) const {
    const auto end = row.begin() + getLength(index);
    return std::all_of(row.begin(), end, [&](float x) { return x == upTo; }) &&
           std::all_of(end, row.end(), [&](float x) { return x == after; });
  }
};

} // namespace

/// Returns the number of leading elements equal to `value`.
static int64_t countLeading(const std::vector<float> &row, float value) {
  return std::find_if(row.begin(), row.end(),
                      [&](float x) { return x != value; }) -
         row.begin();
}

Result<std::optional<WeightExpr>>
transom::findTriangle(const ModelFiles &files,
                      const SafetensorsTensor &tensor) {
  using Found = std::optional<WeightExpr>;
  const size_t rank = tensor.shape.size();
  const bool isReadable = isFloat(tensor.dtype) || isInteger(tensor.dtype);
  const std::optional<int64_t> count = elementCount(tensor.shape);
  if (!isReadable || tensor.stored || rank < 2 || !count || *count == 0)
    return Found();

  // A single row or column has no useful diagonal.
  if (tensor.shape[rank - 2] < 2 || tensor.shape[rank - 1] < 2)
    return Found();

  // Corners contain both values. If the diagonal starts or ends outside the
  // first or last row, that row has only one value.
  Triangle triangle;
  triangle.rows = tensor.shape[rank - 2];
  triangle.columns = tensor.shape[rank - 1];
  RowReader reader(files, tensor);
  TRANSOM_ASSIGN(const std::vector<float> *first, reader.read(0));
  triangle.after = first->back();
  const std::vector<float> firstRow = *first;
  TRANSOM_ASSIGN(const std::vector<float> *last,
                 reader.read(triangle.rows - 1));
  triangle.upTo = last->front();
  if (!(triangle.upTo != triangle.after) || std::isnan(triangle.upTo) ||
      std::isnan(triangle.after))
    return Found();
  const int64_t start = countLeading(firstRow, triangle.upTo);
  triangle.diagonal = start > 0
                          ? start - 1
                          : countLeading(*last, triangle.upTo) - triangle.rows;

  // Compare all rows.
  for (int64_t i = 0, rows = *count / triangle.columns; i < rows; ++i) {
    TRANSOM_ASSIGN(const std::vector<float> *row, reader.read(i));
    if (!triangle.matches(*row, i))
      return Found();
  }
  return Found(WeightExpr::triangle(tensor.shape, triangle.diagonal,
                                    triangle.upTo, triangle.after));
}
