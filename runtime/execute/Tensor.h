// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The caller's tensors: whether they are dense and large enough, and copies
// between their strides and types and the dense form that generated code sees.
#pragma once
#include "runtime/execute/Entry.h"

namespace transom {

/// Bytes from a tensor's first element to the end of its last, for this shape;
/// false on overflow or a negative stride.
bool getSpan(const transom_tensor &tensor, const int64_t *shape, int64_t rank,
             size_t elementSize, uint64_t &bytes);

/// True when the strides are all 0 or those of a dense row-major tensor.
bool isDense(const transom_tensor &tensor, const int64_t *shape, int64_t rank);

/// True when a tensor for results has an element twice.
bool overlapsItself(const transom_tensor &tensor, const int64_t *shape,
                    int64_t rank);

/// Copies an input densely to `out` in the type that the code sees: integers
/// as i64, bool as bytes, floats as f32.
void stageInput(const transom_tensor &tensor, const int64_t *shape,
                int64_t rank, void *out);

/// Copies a dense result into a caller's tensor with strides.
void unstageResult(const void *dense, const transom_tensor &tensor,
                   const int64_t *shape, int64_t rank, size_t elementSize);

/// Checks the values of a staged input: ids in range, masks and bools 0 or 1.
/// The error names the index of the first wrong element.
Result<void> checkValues(const Argument &argument, const void *staged,
                         const int64_t *shape, int64_t rank);

/// Bytes of one element; 0 for no type.
size_t getElementSize(transom_dtype dtype);
/// The C API's name of a type, such as "f32".
const char *dtypeText(transom_dtype dtype);
/// `[2, 3]` for errors.
std::string shapeText(const int64_t *shape, int64_t rank);

} // namespace transom
