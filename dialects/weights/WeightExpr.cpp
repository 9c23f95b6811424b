// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weight expressions: construction and printing.
#include "dialects/weights/WeightExpr.h"
#include "dialects/weights/WeightNode.h"
#include "runtime/base/DType.h"
#include <algorithm>
#include <charconv>
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

WeightExpr WeightExpr::triangle(Shape shape, int64_t diagonal, double upTo,
                                double after) {
  auto node = makeNode(Kind::Triangle);
  node->dims = std::move(shape);
  node->start = diagonal;
  node->data = {upTo, after};
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

WeightExpr withNorms(WeightExpr e, WeightExpr norms) {
  auto node = makeNode(Kind::LayerNorm);
  node->operands = {std::move(e), std::move(norms)};
  node->rowNorms = std::make_shared<RowNorms>();
  return WeightExpr::ofNode(std::move(node));
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
  if (copy->rowNorms)
    copy->rowNorms = std::make_shared<RowNorms>();
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
  // Helpers for single operands and for operand lists.
  auto number = [](int64_t n) { return std::to_string(n); };
  const Node &n = *node;
  auto operand = [&](size_t i) { return n.operands[i].str(); };
  auto joined = [&](const char *name, int64_t first) {
    std::string text = name + number(first);
    for (const WeightExpr &e : n.operands)
      text += ", " + e.str();
    return text + ")";
  };
  // The arguments follow the operation name.
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
  case Kind::Triangle:
    return "triangle(" + shapeText(n.dims) + ", " + number(n.start) + ", " +
           numberText(n.data[0]) + ", " + numberText(n.data[1]) + ")";
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
    if (n.rowNorms)
      return "with_norms(" + operand(0) + ", " + operand(1) + ")";
    return "layer_norm(" + operand(0) + ", " + operand(1) + ", " + operand(2) +
           ", " + numberText(n.number) + ")";
  }
  return "";
}

} // namespace transom
