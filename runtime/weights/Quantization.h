// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How numbers become whole numbers with a scale.
#pragma once
#include "runtime/weights/OperandFormat.h"

namespace transom {

/// Makes the numbers of a group of a weight whole, of at most the type's
/// largest magnitude, and gives their scale: that of the least squared error
/// which is found from the largest number on. The scale is NaN if a number is
/// not finite, and 0 if all are zero.
float quantizeGroup(const float *numbers, int64_t count, StorageType type,
                    int8_t *out);

} // namespace transom
