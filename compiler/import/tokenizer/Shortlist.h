// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a lexical shortlist of Marian, the text of its tools or its binary
// format, and puts it into the tables of a tokenizer.
#pragma once
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include "runtime/base/Error.h"
#include <string>

namespace transom {

/// A file and how much of it counts.
struct ShortlistOptions {
  std::string file;    ///< empty: none
  int64_t first = 100; ///< so many ids of the target are in every list
  int64_t best = 100;  ///< the most probable target tokens of a source token
};

/// Adds the shortlist of a file to the tables of a tokenizer.
///
/// Text: lines `target source probability`, whose words are tokens of the
/// vocabularies; lines with NULL or with a word that is not a token are left
/// out. Binary: ids, with `first` and `best` of its own.
///
/// `Unavailable` for a file that cannot be read, `Rejected` for a malformed
/// line, an id that the model does not have, or no line that counts.
Result<void> addShortlist(const ShortlistOptions &options,
                          const ModelVocabulary &model, std::string &tables);

} // namespace transom
