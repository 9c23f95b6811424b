// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits of compiler/import/README.md that hold for all kinds of models.
#pragma once
#include <cstdint>

namespace transom {

/// Of any size, so that sizes and their products with it fit.
inline constexpr int64_t maxDim = INT32_MAX;
/// Of the keys or values of a head.
inline constexpr int64_t maxHeadSize = 65536;

} // namespace transom
