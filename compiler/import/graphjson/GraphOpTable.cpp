// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the operation table from its groups, in reference order.
#include "compiler/import/graphjson/GraphOpGroups.h"
#include "runtime/base/Suggest.h"

using namespace mlir;
using namespace transom;

bool graph::isFloatValue(Value value) {
  return isa<FloatType>(cast<TensorType>(value.getType()).getElementType());
}
bool graph::isBoolValue(Value value) {
  return cast<TensorType>(value.getType()).getElementType().isInteger(1);
}

const std::vector<GraphOp> &transom::graphOps() {
  static const std::vector<GraphOp> table = [] {
    std::vector<GraphOp> ops;
    for (auto getGroup :
         {graph::getWeightOps, graph::getProductOps, graph::getElementwiseOps,
          graph::getShapeOps, graph::getLookupOps, graph::getRopeOps,
          graph::getNormOps, graph::getAttentionOps})
      llvm::append_range(ops, getGroup());
    return ops;
  }();
  return table;
}

const GraphOp *transom::findGraphOp(const std::string &name) {
  for (const GraphOp &op : graphOps())
    if (name == op.name)
      return &op;
  return nullptr;
}

std::string transom::describeGraphOps(const std::string &name) {
  std::vector<std::string> names;
  for (const GraphOp &known : graphOps())
    names.push_back(known.name);
  const std::string suggestion = suggest(name, names);
  return suggestion.empty() ? "; supported: " + joinNames(names) : suggestion;
}
