/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Element types and tensors in the caller's memory.
 */
#ifndef TRANSOM_TENSOR_H
#define TRANSOM_TENSOR_H
#include "transom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Maximum tensor rank. */
#define TRANSOM_MAX_RANK 8

/** Element types. */
typedef enum transom_dtype TRANSOM_ENUM_TYPE {
  /** not given */
  TRANSOM_DTYPE_NONE = 0,
  /** 32-bit float */
  TRANSOM_DTYPE_F32 = 1,
  /** bfloat16 */
  TRANSOM_DTYPE_BF16 = 2,
  /** IEEE half precision */
  TRANSOM_DTYPE_F16 = 3,
  /** signed 64-bit integer */
  TRANSOM_DTYPE_I64 = 4,
  /** signed 32-bit integer */
  TRANSOM_DTYPE_I32 = 5,
  /** one byte, 0 or 1 */
  TRANSOM_DTYPE_BOOL = 6
} transom_dtype;

/** A tensor in the caller's memory. */
typedef struct transom_tensor {
  /** argument or result name */
  const char *name;
  /** element type; for a result TRANSOM_DTYPE_NONE is accepted and filled in */
  transom_dtype dtype;
  /** tensor rank; filled in for a result */
  int32_t rank;
  /** size of each dimension, in elements; filled in for a result */
  int64_t shape[TRANSOM_MAX_RANK];
  /** stride of each dimension, in elements, not negative; all 0: dense
   * row-major
   */
  int64_t strides[TRANSOM_MAX_RANK];
  /** first element; inputs are not written */
  void *data;
  /** memory size at `data`, in bytes */
  size_t capacity;
} transom_tensor;

/** Returns a name such as "f32"; "none" for TRANSOM_DTYPE_NONE, "unknown" for
 * other values. */
TRANSOM_API const char *transom_dtype_name(transom_dtype dtype);

/** Returns the element size in bytes; 0 for TRANSOM_DTYPE_NONE and other
 * values. */
TRANSOM_API size_t transom_dtype_size(transom_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
