// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of kern in words.
#pragma once
#include "dialects/kern/Kern.h"
#include <string>
#include <utility>
#include <vector>

namespace transom {

/// What an operation computes, for readers who know Transformers:
/// `768 -> 3072, bias, gelu`; empty where its name says all.
std::string describeOperation(kern::BufferOp op);

/// The columns that the result of a product or an attention has in all, and
/// those that are computed for them: panels have 32 columns, and the sums of
/// attention are vectors of 16 per head. Zeros for other operations.
std::pair<int64_t, int64_t> getPaddedColumns(kern::BufferOp op);

/// The widths of a product's slices, or that of a head of attention; empty for
/// other operations.
std::vector<int64_t> getWidths(kern::BufferOp op);

/// The projections that one product computes, from the name of their joined
/// weight: `query`, `key`, `value` of `layer.0.query+key+value.weight`. Empty
/// for a weight of one projection.
std::vector<std::string> getJoinedProjections(llvm::StringRef weight);

} // namespace transom
