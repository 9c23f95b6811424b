// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs with f32 rows and quantized weights in groups.
#pragma once
#include "passes/lower/emit/OperandLowering.h"

namespace transom::lower {

/// The lowering for a format in `OperandFormat::getQuantizedFormats()` if the
/// other operand is f32.
std::unique_ptr<OperandLowering>
makeDequantizedLowering(const OperandFormat &format);

} // namespace transom::lower
