// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the tables that locate each sequence's rows for generated code: from a
// mask, or for batches without padding.
#pragma once
#include "runtime/abi/Abi.h"
#include <cstdint>

namespace transom {

/// Memory for one table.
struct RaggedBatchStorage {
  transom_sequence *sequences;
  int32_t *tokenSequence;
  int32_t *tokenColumn;
  int64_t *tokenKey;
};

/// Counts the rows selected by a mask [batch, columns]: its ones and, with
/// `keepFirst`, column 0 of each sequence. Mask is int64_t or uint8_t; values
/// are zeros and ones.
template <typename Mask>
int64_t countTokens(const Mask *mask, int64_t batch, int64_t columns,
                    bool keepFirst);

/// Fills the tables for a mask. Tokens of a sequence are consecutive in column
/// order; a masked column 0 that is kept is the last, and not a key. The
/// storage has room for `batch` sequences and countTokens() tokens.
template <typename Mask>
void buildRagged(const Mask *mask, int64_t batch, int64_t columns,
                 bool keepFirst, const RaggedBatchStorage &storage,
                 transom_ragged_batch &ragged);

/// Fills the tables for sequences with `columns` rows each, all of them keys.
void buildUniform(int64_t batch, int64_t columns,
                  const RaggedBatchStorage &storage,
                  transom_ragged_batch &ragged);

} // namespace transom
