// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits for all kinds of models, documented in compiler/import/README.md.
#pragma once
#include <cstdint>

namespace transom {

/// Max value for any size, so that sizes and their products fit.
inline constexpr int64_t maxDim = INT32_MAX;
/// Max key or value head size.
inline constexpr int64_t maxHeadSize = 65536;

} // namespace transom
