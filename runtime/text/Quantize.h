// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embeddings in bytes or bits.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/include/transom/text.h"
#include <cstdint>

namespace transom {

/// Bytes of a quantized embedding of `size` numbers; nothing for a precision
/// that there is not.
Result<size_t> getQuantizedSize(transom_precision precision, size_t size);

/// As transom_quantize_embeddings(), with room that was checked.
Result<void> quantizeEmbeddings(const float *embeddings, size_t count,
                                size_t size, transom_precision precision,
                                const float *ranges, uint8_t *out);

} // namespace transom
