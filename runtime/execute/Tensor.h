// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caller tensors: checks that they are dense and large enough, and copies
// between their strides and types and the dense layout in generated code.
#pragma once
#include "runtime/execute/Entry.h"

namespace transom {

/// Computes the bytes from a tensor's first element to the end of its last, for
/// this shape; false on overflow or a negative stride.
bool getSpan(const transom_tensor &tensor, const int64_t *shape, int64_t rank,
             size_t elementSize, uint64_t &bytes);

/// True if the strides are all 0 or match a dense row-major tensor.
bool isDense(const transom_tensor &tensor, const int64_t *shape, int64_t rank);

/// True if two indices of a result tensor share an element.
bool overlapsItself(const transom_tensor &tensor, const int64_t *shape,
                    int64_t rank);

/// Copies an input densely to `out` in the generated code's type: integers as
/// i64, bool as bytes, floats as f32.
void stageInput(const transom_tensor &tensor, const int64_t *shape,
                int64_t rank, void *out);

/// Copies a dense result into a caller's tensor with strides.
void unstageResult(const void *dense, const transom_tensor &tensor,
                   const int64_t *shape, int64_t rank, size_t elementSize);

/// Checks the values in a staged input: ids in range, masks and bools 0 or 1.
/// The error contains the index of the first invalid element.
Result<void> checkValues(const Argument &argument, const void *staged,
                         const int64_t *shape, int64_t rank);

/// Bytes per element; 0 for TRANSOM_DTYPE_NONE.
size_t getElementSize(transom_dtype dtype);
/// The C API's type name, such as "f32".
const char *dtypeText(transom_dtype dtype);
/// Formats a shape for errors: `[2, 3]`.
std::string shapeText(const int64_t *shape, int64_t rank);

} // namespace transom
