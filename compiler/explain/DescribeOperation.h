// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of kern in words.
#pragma once
#include "dialects/kern/Kern.h"
#include <string>
#include <utility>

namespace transom {

/// What an operation computes, for readers who know Transformers:
/// `768 -> 3072, bias, gelu`; empty where its name says all.
std::string describeOperation(kern::BufferOp op);

/// The columns that the result of a product or an attention has in all, and
/// those that are computed for them: panels have 32 columns, and the sums of
/// attention are vectors of 16 per head. Zeros for other operations.
std::pair<int64_t, int64_t> getPaddedColumns(kern::BufferOp op);

} // namespace transom
