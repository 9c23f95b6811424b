// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weight expression shapes, checked against the file headers.
#include "dialects/weights/WeightNode.h"
#include "runtime/base/Checked.h"
#include "runtime/base/DType.h"
#include <algorithm>
#include <cmath>

namespace transom {

using Kind = WeightExpr::Kind;
using Shape = std::vector<int64_t>;

namespace {

Error shapeError(const WeightExpr &e, const std::string &text) {
  std::string shown = e.str();
  if (shown.size() > 200)
    shown = shown.substr(0, 200) + "...";
  return rejected("weight expression '" + shown + "': " + text);
}

Error axisError(const WeightExpr &e, int64_t axis, const Shape &shape) {
  return shapeError(e, "axis " + std::to_string(axis) + " is not in shape " +
                           shapeText(shape));
}

Result<Shape> transposedShape(const WeightExpr &e, const Shape &shape) {
  const Shape &permutation = (*e).dims;
  Shape sorted = permutation, result;
  std::sort(sorted.begin(), sorted.end());
  bool valid = sorted.size() == shape.size();
  for (size_t i = 0; valid && i < sorted.size(); ++i)
    valid = sorted[i] == static_cast<int64_t>(i);
  if (!valid)
    return shapeError(e, shapeText(permutation) +
                             " is no permutation of the dimensions of " +
                             shapeText(shape));
  for (int64_t axis : permutation)
    result.push_back(shape[axis]);
  return result;
}

Result<Shape> concatShape(const WeightExpr &e,
                          const std::vector<Shape> &shapes) {
  const WeightExpr::Node &n = *e;
  if (shapes.empty())
    return shapeError(e, "expected at least one operand");
  Shape result = shapes[0];
  if (n.axis < 0 || n.axis >= static_cast<int64_t>(result.size()))
    return axisError(e, n.axis, result);
  CheckedSize total;
  for (const Shape &shape : shapes) {
    Shape same = shape;
    if (same.size() == result.size())
      same[n.axis] = result[n.axis];
    if (same != result)
      return shapeError(e, "operands of shapes " + shapeText(shapes[0]) +
                               " and " + shapeText(shape) +
                               " differ beside axis " + std::to_string(n.axis));
    total += CheckedSize::fromSigned(shape[n.axis]);
  }
  std::optional<int64_t> size = total.signedValue();
  if (!size)
    return shapeError(e, "size does not fit 64 bits");
  result[n.axis] = *size;
  return result;
}

/// The shape of an expression with one operand and an axis.
Result<Shape> axisShape(const WeightExpr &e, Shape shape) {
  const WeightExpr::Node &n = *e;
  if (n.axis < 0 || n.axis >= static_cast<int64_t>(shape.size()))
    return axisError(e, n.axis, shape);
  int64_t &dim = shape[n.axis];
  if (n.kind == Kind::Slice &&
      (n.start < 0 || n.size < 0 || n.start > dim || n.size > dim - n.start))
    return shapeError(e, "range from " + std::to_string(n.start) + " of " +
                             std::to_string(n.size) + " is not in dimension " +
                             std::to_string(dim));
  if (n.kind == Kind::Pad && n.size < dim)
    return shapeError(e, "padded size " + std::to_string(n.size) +
                             " is less than the dimension " +
                             std::to_string(dim));
  dim = n.size;
  return shape;
}

/// The table with coarse and fine angles.
Result<Shape> anglesShape(const WeightExpr &e) {
  const WeightExpr::Node &n = *e;
  if (n.size < 1)
    return shapeError(e,
                      "limit " + std::to_string(n.size) + " is not positive");
  if (n.data.empty())
    return shapeError(e, "expected at least one frequency");
  bool finite = std::isfinite(n.number);
  for (double frequency : n.data)
    finite = finite && std::isfinite(frequency);
  if (!finite)
    return shapeError(e, "a frequency or the factor is not finite");
  int64_t coarse = (n.size - 1) / weightExprAngleStep + 1;
  Shape shape = {coarse + weightExprAngleStep,
                 2 * static_cast<int64_t>(n.data.size())};
  if (!elementCount(shape))
    return shapeError(e, "shape " + shapeText(shape) + " does not fit 64 bits");
  return shape;
}

Result<Shape> gatheredShape(const WeightExpr &e, Shape shape) {
  const Shape &indices = (*e).dims;
  if (shape.empty())
    return axisError(e, 0, shape);
  for (int64_t index : indices)
    if (index < 0 || index >= shape[0])
      return shapeError(e, "index " + std::to_string(index) +
                               " is not in dimension " +
                               std::to_string(shape[0]));
  shape[0] = static_cast<int64_t>(indices.size());
  if (!elementCount(shape))
    return shapeError(e, "shape " + shapeText(shape) + " does not fit 64 bits");
  return shape;
}

Result<Shape> interleavedShape(const WeightExpr &e,
                               const std::vector<Shape> &shapes) {
  const WeightExpr::Node &n = *e;
  if (shapes.empty())
    return shapeError(e, "expected at least one operand");
  for (const Shape &shape : shapes)
    if (shape != shapes[0])
      return shapeError(e, "operands of shapes " + shapeText(shapes[0]) +
                               " and " + shapeText(shape) + " differ");
  Shape result = shapes[0];
  if (result.empty())
    return axisError(e, 0, result);
  if (n.size < 1 || result[0] % n.size != 0)
    return shapeError(e, "dimension " + std::to_string(result[0]) +
                             " is no multiple of " + std::to_string(n.size));
  CheckedSize rows = CheckedSize::fromSigned(result[0]);
  rows *= CheckedSize::fromSigned(static_cast<int64_t>(shapes.size()));
  std::optional<int64_t> size = rows.signedValue();
  if (!size)
    return shapeError(e, "size does not fit 64 bits");
  result[0] = *size;
  return result;
}

/// The second operand has the last dimensions of the first, or all.
Result<Shape> sumShape(const WeightExpr &e, const Shape &a, const Shape &b) {
  if (b.size() <= a.size() && std::equal(b.rbegin(), b.rend(), a.rbegin()))
    return a;
  return shapeError(e, "shapes " + shapeText(a) + " and " + shapeText(b) +
                           " differ");
}

Result<Shape> productShape(const WeightExpr &e, const Shape &a,
                           const Shape &b) {
  if (a.size() != 2 || b.size() != 2 || a[1] != b[0])
    return shapeError(e, "expected shapes [m, k] and [k, n], got " +
                             shapeText(a) + " and " + shapeText(b));
  Shape shape = {a[0], b[1]};
  if (!elementCount(shape))
    return shapeError(e, "shape " + shapeText(shape) + " does not fit 64 bits");
  return shape;
}

/// One norm per matrix row.
Result<Shape> scaledShape(const WeightExpr &e, const Shape &shape,
                          const Shape &norms) {
  if (shape.size() == 2 && norms == Shape{shape[0]})
    return shape;
  return shapeError(e, "expected shapes [m, k] and [m], got " +
                           shapeText(shape) + " and " + shapeText(norms));
}

Result<Shape> normShape(const WeightExpr &e, const std::vector<Shape> &shapes) {
  const Shape &shape = shapes[0];
  if (shape.empty())
    return axisError(e, 0, shape);
  const Shape row = {shape.back()};
  if (shapes[1] != row || shapes[2] != row)
    return shapeError(e, "expected gamma and beta of shape " + shapeText(row) +
                             ", got " + shapeText(shapes[1]) + " and " +
                             shapeText(shapes[2]));
  if (!((*e).number >= 0) || !std::isfinite((*e).number))
    return shapeError(e, "epsilon is negative or not finite");
  return shape;
}

/// Checks a literal shape.
Result<Shape> literalShape(const WeightExpr &e) {
  const WeightExpr::Node &n = *e;
  std::optional<int64_t> count = elementCount(n.dims);
  if (!count)
    return shapeError(e, "shape " + shapeText(n.dims) +
                             " is negative or does not fit 64 bits");
  if (n.kind == Kind::Values && *count != static_cast<int64_t>(n.data.size()))
    return shapeError(e, "shape " + shapeText(n.dims) + " takes " +
                             std::to_string(*count) + " values, got " +
                             std::to_string(n.data.size()));
  if (n.kind == Kind::Triangle && n.dims.size() < 2)
    return shapeError(e, "shape " + shapeText(n.dims) + " has no diagonal");
  if (n.kind == Kind::Sinusoid && n.order == SinusoidOrder::Fairseq &&
      n.dims[1] < 4)
    return shapeError(e,
                      "width " + std::to_string(n.dims[1]) + " is less than 4");
  return n.dims;
}

} // namespace

Result<Shape> WeightExpr::shape(const TensorSource &source) const {
  const Node &n = *node;
  if (n.kind == Kind::File)
    return source.shape(n.name);
  // Compute the operand shapes first.
  std::vector<Shape> shapes;
  for (const WeightExpr &operand : n.operands) {
    Result<Shape> shape = operand.shape(source);
    if (!shape)
      return shape;
    shapes.push_back(std::move(*shape));
  }
  // Then apply the operation's rule.
  switch (n.kind) {
  case Kind::Transpose:
    return transposedShape(*this, shapes[0]);
  case Kind::Slice:
  case Kind::Pad:
    return axisShape(*this, shapes[0]);
  case Kind::Concat:
    return concatShape(*this, shapes);
  case Kind::Gather:
    return gatheredShape(*this, shapes[0]);
  case Kind::Interleave:
    return interleavedShape(*this, shapes);
  case Kind::Angles:
    return anglesShape(*this);
  case Kind::Scale:
    return shapes[0];
  case Kind::Add:
    return sumShape(*this, shapes[0], shapes[1]);
  case Kind::Matmul:
    return productShape(*this, shapes[0], shapes[1]);
  case Kind::LayerNorm:
    return n.rowNorms ? scaledShape(*this, shapes[0], shapes[1])
                      : normShape(*this, shapes);
  case Kind::Reshape: {
    std::optional<int64_t> before = elementCount(shapes[0]),
                           after = elementCount(n.dims);
    if (!before || before != after)
      return shapeError(*this, "shape " + shapeText(n.dims) +
                                   " does not hold the elements of " +
                                   shapeText(shapes[0]));
    return n.dims;
  }
  default:
    return literalShape(*this);
  }
}

} // namespace transom
