// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Human-readable descriptions for kern operations.
#pragma once
#include "dialects/kern/Kern.h"
#include <string>
#include <utility>
#include <vector>

namespace transom {

/// Describes an operation for readers who know Transformers: `768 -> 3072,
/// bias, gelu`; empty if its name is sufficient.
std::string describeOperation(kern::BufferOp op);

/// Returns the total result columns of a GEMM or attention, and the computed
/// columns including padding: panels have 32 columns, and attention sums are
/// vectors with 16 lanes per head. Zeros for other operations.
std::pair<int64_t, int64_t> getPaddedColumns(kern::BufferOp op);

/// Returns the GEMM slice widths, or the attention head width; empty for other
/// operations.
std::vector<int64_t> getWidths(kern::BufferOp op);

/// Returns the projections in one fused GEMM, from the name of its combined
/// weight: `query`, `key`, `value` for `layer.0.query+key+value.weight`. Empty
/// for a weight with one projection.
std::vector<std::string> getJoinedProjections(llvm::StringRef weight);

} // namespace transom
