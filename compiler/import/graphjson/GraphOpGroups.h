// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The groups of graph.json's operations. The source of a group has the rows of
// its operations beside their builders; shapes are checked by the dialect's own
// rules as operations are made. Private to the import.
#pragma once
#include "compiler/import/graphjson/GraphOps.h"

namespace transom::graph {

using Values = llvm::SmallVector<mlir::Value>;

/// Largest number of elements of a constant in the file.
inline constexpr size_t maxConstant = 65536;

bool isFloatValue(mlir::Value value);
bool isBoolValue(mlir::Value value);

/// An `attention` with the attribute `cross`.
Values buildCrossAttention(OpCall &call);

// Each function gives the rows of its group.
std::vector<GraphOp> getWeightOps();
std::vector<GraphOp> getProductOps();
std::vector<GraphOp> getElementwiseOps();
std::vector<GraphOp> getShapeOps();
std::vector<GraphOp> getLookupOps();
std::vector<GraphOp> getRopeOps();
std::vector<GraphOp> getNormOps();
std::vector<GraphOp> getAttentionOps();

} // namespace transom::graph
