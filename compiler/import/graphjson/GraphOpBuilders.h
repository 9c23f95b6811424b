// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The builders that the table of graph.json's operations names. Private to
// the import.
#pragma once
#include "compiler/import/graphjson/GraphOps.h"

namespace transom::graph {

using Values = llvm::SmallVector<mlir::Value>;

/// Largest number of elements of a constant in the file.
inline constexpr size_t maxConstant = 65536;

bool isFloatValue(mlir::Value value);
bool isBoolValue(mlir::Value value);

Values buildWeight(OpCall &call);
Values buildConstant(OpCall &call);
Values buildLinear(OpCall &call);
Values buildMatmul(OpCall &call);
Values buildBinary(OpCall &call);
Values buildScale(OpCall &call);
Values buildFunction(OpCall &call);
Values buildCast(OpCall &call);
Values buildNot(OpCall &call);
Values buildWhere(OpCall &call);
Values buildTranspose(OpCall &call);
Values buildReshape(OpCall &call);
Values buildConcat(OpCall &call);
Values buildSlice(OpCall &call);
Values buildSplit(OpCall &call);
Values buildGather(OpCall &call);
Values buildEmbedding(OpCall &call);
Values buildPosition(OpCall &call);
Values buildSinusoid(OpCall &call);
Values buildRopeTable(OpCall &call);
Values buildRope(OpCall &call);
Values buildSoftmax(OpCall &call);
Values buildMask(OpCall &call);
Values buildNorm(OpCall &call);
Values buildAttention(OpCall &call);
Values buildPool(OpCall &call);

} // namespace transom::graph
