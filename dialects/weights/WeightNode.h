// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weight expression node, shared by the parser, printer and evaluator.
#pragma once
#include "dialects/weights/RowNorms.h"
#include "dialects/weights/StoredGroups.h"

namespace transom {

/// Max expression depth, which bounds recursion.
inline constexpr unsigned weightExprMaxDepth = 200;

/// Number of fine rows in an angle table; the position step between coarse
/// rows.
inline constexpr int64_t weightExprAngleStep = 256;

/// One operation; the relevant fields depend on the kind.
struct WeightExpr::Node {
  Kind kind;
  std::string name;                   ///< File
  std::optional<StoredGroups> stored; ///< File
  std::vector<WeightExpr> operands;
  std::vector<int64_t> dims; ///< Transpose: permutation; Reshape, Fill,
                             ///< Values, Triangle: shape; Sinusoid: positions,
                             ///< width; Gather: indices
  int64_t axis = 0;          ///< Slice, Concat, Pad
  int64_t start = 0;         ///< Slice; Triangle: diagonal
  int64_t size = 0;          ///< Slice, Pad, Interleave; Angles: limit
  double number = 0; ///< Scale, Fill; Angles: factor; LayerNorm: epsilon
  SinusoidOrder order = SinusoidOrder::InTurn; ///< Sinusoid
  std::vector<double> data; ///< Values; Angles: frequencies; Triangle:
  ///< values up to the diagonal and after it
  std::shared_ptr<RowNorms>
      rowNorms; ///< LayerNorm: for `with_norms`, else null

  const WeightExpr &operand(size_t i = 0) const { return operands[i]; }
};

} // namespace transom
