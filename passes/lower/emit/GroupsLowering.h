// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with weights that are whole numbers in groups.
#pragma once
#include "passes/lower/emit/OperandLowering.h"

namespace transom::lower {

/// The lowerings of `OperandFormat::getQuantizedFormats()`.
std::vector<const OperandLowering *> getGroupsLowerings();
/// What the names of their micro-kernels say: `_int8x128`, `_uint4x128f32`.
std::string getGroupsSuffix(const OperandFormat &format);

} // namespace transom::lower
