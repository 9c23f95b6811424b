// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.json operation groups. Each group's source has the table rows next to
// the builders; shapes are checked by the dialect's rules when operations are
// created. Private to the import.
#pragma once
#include "compiler/import/graphjson/GraphOps.h"

namespace transom::graph {

using Values = llvm::SmallVector<mlir::Value>;

/// Max element count in a constant.
inline constexpr size_t maxConstant = 65536;

bool isFloatValue(mlir::Value value);
bool isBoolValue(mlir::Value value);

/// Builds an `attention` with the attribute `cross`.
Values buildCrossAttention(OpCall &call);

// Each function returns the rows of its group.
std::vector<GraphOp> getWeightOps();
std::vector<GraphOp> getProductOps();
std::vector<GraphOp> getElementwiseOps();
std::vector<GraphOp> getShapeOps();
std::vector<GraphOp> getLookupOps();
std::vector<GraphOp> getRopeOps();
std::vector<GraphOp> getNormOps();
std::vector<GraphOp> getAttentionOps();

} // namespace transom::graph
