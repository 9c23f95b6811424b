// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weight expressions: making them, their text form, and their shapes.
#include "runtime/weights/WeightExpr.h"
#include "runtime/base/Checked.h"
#include "runtime/base/DType.h"
#include "runtime/weights/WeightNode.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace transom {

using Kind = WeightExpr::Kind;
using Shape = std::vector<int64_t>;

static std::shared_ptr<WeightExpr::Node> makeNode(Kind kind) {
  auto node = std::make_shared<WeightExpr::Node>();
  node->kind = kind;
  return node;
}

WeightExpr WeightExpr::file(std::string name) {
  auto node = makeNode(Kind::File);
  node->name = std::move(name);
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::transpose(WeightExpr e, Shape permutation) {
  auto node = makeNode(Kind::Transpose);
  node->operands.push_back(std::move(e));
  node->dims = std::move(permutation);
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::slice(WeightExpr e, int64_t axis, int64_t start,
                             int64_t size) {
  auto node = makeNode(Kind::Slice);
  node->operands.push_back(std::move(e));
  node->axis = axis;
  node->start = start;
  node->size = size;
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::concat(int64_t axis, std::vector<WeightExpr> operands) {
  auto node = makeNode(Kind::Concat);
  node->operands = std::move(operands);
  node->axis = axis;
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::scale(WeightExpr e, double factor) {
  auto node = makeNode(Kind::Scale);
  node->operands.push_back(std::move(e));
  node->number = factor;
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::add(WeightExpr a, WeightExpr b) {
  auto node = makeNode(Kind::Add);
  node->operands.push_back(std::move(a));
  node->operands.push_back(std::move(b));
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::pad(WeightExpr e, int64_t axis, int64_t size) {
  auto node = makeNode(Kind::Pad);
  node->operands.push_back(std::move(e));
  node->axis = axis;
  node->size = size;
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::reshape(WeightExpr e, Shape shape) {
  auto node = makeNode(Kind::Reshape);
  node->operands.push_back(std::move(e));
  node->dims = std::move(shape);
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::fill(Shape shape, double value) {
  auto node = makeNode(Kind::Fill);
  node->dims = std::move(shape);
  node->number = value;
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::sinusoid(int64_t positions, int64_t width,
                                SinusoidOrder order) {
  auto node = makeNode(Kind::Sinusoid);
  node->dims = {positions, width};
  node->order = order;
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::values(Shape shape, std::vector<double> data) {
  auto node = makeNode(Kind::Values);
  node->dims = std::move(shape);
  node->data = std::move(data);
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::angles(int64_t limit, double factor,
                              std::vector<double> frequencies) {
  auto node = makeNode(Kind::Angles);
  node->size = limit;
  node->number = factor;
  node->data = std::move(frequencies);
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::gather(WeightExpr e, std::vector<int64_t> indices) {
  auto node = makeNode(Kind::Gather);
  node->operands.push_back(std::move(e));
  node->dims = std::move(indices);
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::interleave(int64_t size,
                                  std::vector<WeightExpr> operands) {
  auto node = makeNode(Kind::Interleave);
  node->operands = std::move(operands);
  node->size = size;
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::matmul(WeightExpr a, WeightExpr b) {
  auto node = makeNode(Kind::Matmul);
  node->operands = {std::move(a), std::move(b)};
  return WeightExpr(std::move(node));
}

WeightExpr WeightExpr::layerNorm(WeightExpr e, WeightExpr gamma,
                                 WeightExpr beta, double eps) {
  auto node = makeNode(Kind::LayerNorm);
  node->operands = {std::move(e), std::move(gamma), std::move(beta)};
  node->number = eps;
  return WeightExpr(std::move(node));
}

WeightExpr::Kind WeightExpr::kind() const { return node->kind; }

std::vector<std::string> WeightExpr::files() const {
  std::vector<std::string> names;
  std::set<std::string> seen;
  std::function<void(const WeightExpr &)> visit = [&](const WeightExpr &e) {
    if (e.kind() == Kind::File && seen.insert(e.node->name).second)
      names.push_back(e.node->name);
    std::for_each(e.node->operands.begin(), e.node->operands.end(), visit);
  };
  visit(*this);
  return names;
}

WeightExpr WeightExpr::replaceFiles(
    const std::function<std::optional<WeightExpr>(const std::string &)>
        &replace) const {
  if (kind() == Kind::File)
    return replace(node->name).value_or(*this);
  auto copy = std::make_shared<Node>(*node);
  for (WeightExpr &operand : copy->operands)
    operand = operand.replaceFiles(replace);
  return WeightExpr(std::move(copy));
}

// Text.

namespace {

std::string numberText(double value) {
  char text[40];
  auto end = std::to_chars(text, text + sizeof text, value);
  std::string result(text, end.ptr);
  if (result.find_first_of(".einf") == std::string::npos)
    result += ".0";
  return result;
}

template <typename T, typename F>
std::string listText(const std::vector<T> &items, F itemText) {
  std::string text = "[";
  for (const T &item : items)
    text += (text.size() == 1 ? "" : ", ") + itemText(item);
  return text + "]";
}

std::string quoted(const std::string &name) {
  static const char hex[] = "0123456789ABCDEF";
  std::string text = "\"";
  for (unsigned char c : name) {
    if (c == '"' || c == '\\' || c < 0x20 || c == 0x7F) {
      text += '\\';
      text += hex[c >> 4];
      text += hex[c & 15];
    } else {
      text += static_cast<char>(c);
    }
  }
  return text + "\"";
}

} // namespace

std::string WeightExpr::str() const {
  auto number = [](int64_t n) { return std::to_string(n); };
  const Node &n = *node;
  auto operand = [&](size_t i) { return n.operands[i].str(); };
  auto joined = [&](const char *name, int64_t first) {
    std::string text = name + number(first);
    for (const WeightExpr &e : n.operands)
      text += ", " + e.str();
    return text + ")";
  };
  switch (n.kind) {
  case Kind::File:
    return "file(" + quoted(n.name) + (n.stored ? ", " + n.stored->str() : "") +
           ")";
  case Kind::Transpose:
    return "transpose(" + operand(0) + ", " + shapeText(n.dims) + ")";
  case Kind::Slice:
    return "slice(" + operand(0) + ", " + number(n.axis) + ", " +
           number(n.start) + ", " + number(n.size) + ")";
  case Kind::Concat:
    return joined("concat(", n.axis);
  case Kind::Scale:
    return "scale(" + operand(0) + ", " + numberText(n.number) + ")";
  case Kind::Add:
    return "add(" + operand(0) + ", " + operand(1) + ")";
  case Kind::Pad:
    return "pad(" + operand(0) + ", " + number(n.axis) + ", " + number(n.size) +
           ")";
  case Kind::Reshape:
    return "reshape(" + operand(0) + ", " + shapeText(n.dims) + ")";
  case Kind::Fill:
    return "fill(" + shapeText(n.dims) + ", " + numberText(n.number) + ")";
  case Kind::Sinusoid:
    return "sinusoid(" + number(n.dims[0]) + ", " + number(n.dims[1]) + ", " +
           number(static_cast<int64_t>(n.order)) + ")";
  case Kind::Values:
    return "values(" + shapeText(n.dims) + ", " + listText(n.data, numberText) +
           ")";
  case Kind::Angles:
    return "angles(" + number(n.size) + ", " + numberText(n.number) + ", " +
           listText(n.data, numberText) + ")";
  case Kind::Gather:
    return "gather(" + operand(0) + ", " + shapeText(n.dims) + ")";
  case Kind::Interleave:
    return joined("interleave(", n.size);
  case Kind::Matmul:
    return "matmul(" + operand(0) + ", " + operand(1) + ")";
  case Kind::LayerNorm:
    return "layer_norm(" + operand(0) + ", " + operand(1) + ", " + operand(2) +
           ", " + numberText(n.number) + ")";
  }
  return "";
}

// Shapes.

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

/// The shape of an expression with one operand along an axis.
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

/// The table of coarse and fine angles.
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

/// The second summand has the last dimensions of the first, or all.
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

/// Checks a shape that the text gives.
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
  // Shapes of the operands come first.
  std::vector<Shape> shapes;
  for (const WeightExpr &operand : n.operands) {
    Result<Shape> shape = operand.shape(source);
    if (!shape)
      return shape;
    shapes.push_back(std::move(*shape));
  }
  // Then the rule of the operation.
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
    return normShape(*this, shapes);
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
