// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a Marian lexical shortlist, in text or binary format, and adds it to a
// tokenizer's tables.
#pragma once
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include "runtime/base/Error.h"
#include <string>

namespace transom {

/// A file and the limits for its entries.
struct ShortlistOptions {
  std::string file;    ///< empty: none
  int64_t first = 100; ///< number of target ids that are in every list
  int64_t best = 100;  ///< max targets per source, by probability
};

/// Adds a file's shortlist to a tokenizer's tables.
///
/// Text: lines `target source probability`, whose words are vocabulary tokens;
/// lines with NULL or with a word that is not a token are ignored. Binary: ids;
/// the file specifies `first` and `best`.
///
/// `Unavailable` for a file that cannot be read, `Rejected` for a malformed
/// line, an id that the model does not have, or a file without usable lines.
Result<void> addShortlist(const ShortlistOptions &options,
                          const ModelVocabulary &model, std::string &tables);

} // namespace transom
