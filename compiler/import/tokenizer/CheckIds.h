// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Token ids and the rows of the model's embedding.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include <optional>

namespace transom {

/// `Rejected` if `imported` gives an id from `rows` on, the number of rows of
/// the model's embedding; names the token. transformers raises an IndexError
/// where such an id is used. A padding token may be beyond the rows, as models
/// have it that were fine-tuned without resizing: a note, since the caller
/// pads.
Result<void> checkTokenIds(ImportedTokenizer &imported, int64_t rows,
                           std::optional<int64_t> paddingToken);

} // namespace transom
