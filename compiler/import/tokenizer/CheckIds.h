// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks token ids against the model's embedding rows.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include <optional>

namespace transom {

/// `Rejected` if `imported` has an id >= `rows`, the model's embedding row
/// count; the error names the token. transformers raises an IndexError if such
/// an id is used. A padding token may exceed the rows, as in models fine-tuned
/// without resizing: this causes a note, since the caller pads.
Result<void> checkTokenIds(ImportedTokenizer &imported, int64_t rows,
                           std::optional<int64_t> paddingToken);

} // namespace transom
