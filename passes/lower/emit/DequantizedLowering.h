// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of rows of f32 with weights that are whole numbers in groups.
#pragma once
#include "passes/lower/emit/OperandLowering.h"

namespace transom::lower {

/// The lowering of one of `OperandFormat::getQuantizedFormats()` beside rows of
/// f32.
std::unique_ptr<OperandLowering>
makeDequantizedLowering(const OperandFormat &format);

} // namespace transom::lower
