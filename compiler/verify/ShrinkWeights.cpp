// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies nodes with their sizes replaced. Literal values and indices are
// truncated to the first ones.
#include "compiler/verify/ShrinkWeights.h"
#include "dialects/weights/WeightNode.h"
#include <algorithm>

namespace transom {

std::vector<int64_t> shrinkShape(const SizeMap &sizes,
                                 const std::vector<int64_t> &shape) {
  std::vector<int64_t> result;
  for (int64_t size : shape)
    result.push_back(sizes.get(size));
  return result;
}

std::vector<int64_t> shrinkIndices(const SizeMap &sizes,
                                   const std::vector<int64_t> &indices,
                                   int64_t rows) {
  const auto count = static_cast<int64_t>(indices.size());
  std::vector<int64_t> kept(indices.begin(),
                            indices.begin() + sizes.get(count));
  const int64_t limit = sizes.get(rows);
  if (std::all_of(kept.begin(), kept.end(),
                  [&](int64_t index) { return index < limit; }))
    return kept;

  // Distinct indices become their ranks, which keep their order.
  std::vector<int64_t> sorted = kept;
  std::sort(sorted.begin(), sorted.end());
  const bool isDistinct =
      std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  const bool hasRanks =
      isDistinct && static_cast<int64_t>(sorted.size()) <= limit;
  for (int64_t &index : kept)
    index = hasRanks ? std::lower_bound(sorted.begin(), sorted.end(), index) -
                           sorted.begin()
                     : index % limit;
  return kept;
}

std::vector<int64_t> getKeptElements(const SizeMap &sizes,
                                     const std::vector<int64_t> &shape) {
  std::vector<int64_t> kept = {0};
  for (int64_t size : shape) {
    std::vector<int64_t> next;
    for (int64_t element : kept)
      for (int64_t i = 0; i < sizes.get(size); ++i)
        next.push_back(element * size + i);
    kept = std::move(next);
  }
  return kept;
}

namespace {

/// Copies one expression.
class ExpressionShrinker {
public:
  ExpressionShrinker(const SizeMap &sizes, const TensorShapes &shapes)
      : sizes(sizes), shapes(shapes) {}

  Result<WeightExpr> run(const WeightExpr &e);

private:
  Result<void> changeSizes(WeightExpr::Node &node);
  Result<void> changeRange(WeightExpr::Node &node);
  Result<void> changeIndices(WeightExpr::Node &node);

  const SizeMap &sizes;
  const TensorShapes &shapes;
};

} // namespace

Result<void> ExpressionShrinker::changeRange(WeightExpr::Node &node) {
  TRANSOM_ASSIGN(std::vector<int64_t> shape, node.operand().shape(shapes));
  const int64_t whole = shape[node.axis],
                begin = sizes.getBoundary(whole, node.start),
                end = sizes.getBoundary(whole, node.start + node.size);
  node.start = begin;
  node.size = end - begin;
  return {};
}

Result<void> ExpressionShrinker::changeIndices(WeightExpr::Node &node) {
  TRANSOM_ASSIGN(std::vector<int64_t> shape, node.operand().shape(shapes));
  node.dims = shrinkIndices(sizes, node.dims, shape[0]);
  return {};
}

/// Replaces the sizes in a node; its operands are unchanged.
Result<void> ExpressionShrinker::changeSizes(WeightExpr::Node &node) {
  switch (node.kind) {
  case WeightExpr::Kind::File:
    if (node.stored)
      node.stored->depth = sizes.get(node.stored->depth);
    return {};
  case WeightExpr::Kind::Slice:
    return changeRange(node);
  case WeightExpr::Kind::Gather:
    return changeIndices(node);
  case WeightExpr::Kind::Pad:
    node.size = sizes.get(node.size);
    return {};
  case WeightExpr::Kind::Values: {
    std::vector<double> data;
    for (int64_t element : getKeptElements(sizes, node.dims))
      data.push_back(node.data[element]);
    node.data = std::move(data);
    node.dims = shrinkShape(sizes, node.dims);
    return {};
  }
  case WeightExpr::Kind::Reshape:
  case WeightExpr::Kind::Fill:
  case WeightExpr::Kind::Sinusoid:
  case WeightExpr::Kind::Triangle:
    node.dims = shrinkShape(sizes, node.dims);
    return {};
  case WeightExpr::Kind::Angles:
    return unsupported("a table of angles as a weight of the model");
  default:
    return {}; // sizes follow from the operands
  }
}

Result<WeightExpr> ExpressionShrinker::run(const WeightExpr &e) {
  auto node = std::make_shared<WeightExpr::Node>(*e);
  TRANSOM_TRY(changeSizes(*node));
  for (WeightExpr &operand : node->operands) {
    TRANSOM_ASSIGN(operand, run(operand));
  }
  return WeightExpr::ofNode(std::move(node));
}

Result<WeightExpr> shrinkExpression(const SizeMap &sizes, const WeightExpr &e,
                                    const TensorShapes &shapes) {
  return ExpressionShrinker(sizes, shapes).run(e);
}

} // namespace transom
