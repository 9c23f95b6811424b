// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantizes embeddings to bytes or bits.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/include/transom/text.h"
#include <cstdint>

namespace transom {

/// Returns the size in bytes of a quantized embedding with `size` elements;
/// `Usage` for an unknown precision.
Result<size_t> getQuantizedSize(transom_precision precision, size_t size);

/// Implements transom_quantize_embeddings(); the output capacity must have been
/// checked.
Result<void> quantizeEmbeddings(const float *embeddings, size_t count,
                                size_t size, transom_precision precision,
                                const float *ranges, uint8_t *out);

} // namespace transom
