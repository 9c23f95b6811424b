// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs texts through entries that take tokens: forms batches that fit the
// session, and hands each text's rows of results on. A text's rows have the
// same bits in any batch.
#pragma once
#include "runtime/session/Session.h"
#include <functional>

namespace transom {

/// What an entry gives for one text.
struct TextRows {
  size_t text; ///< its number
  const Encoding &encoding;
  /// The first row of each result, NULL if the text has no token.
  std::vector<const float *> rows;
  /// Rows of each result: one a token, or 1 where the entry gives one for the
  /// text; 0 if the text has no token.
  size_t count;
};
using TakeRows = std::function<void(const TextRows &rows)>;

/// Results of one entry, which run together; there is at least one.
using TextUses = std::vector<Model::TextUse>;

/// Collects encoded texts and runs them sorted by length, in batches whose
/// columns are those of the longest.
class TextBatcher {
public:
  TextBatcher(Session &session, TextUses uses);

  void add(size_t text, Encoding encoding);
  size_t size() const { return texts.size(); }
  /// The number of texts that are worth to be run together.
  size_t window() const;

  /// Runs all that were added, and forgets them.
  Result<void> flush(const TakeRows &take);

private:
  Result<void> runBatch(const size_t *order, size_t batch, size_t columns,
                        const TakeRows &take);

  Session &session;
  TextUses uses;
  int64_t padding = 0;
  bool runsEmpty = false; ///< texts without tokens are run, with padding alone
  std::vector<size_t> texts;
  std::vector<Encoding> encodings;
  std::vector<int64_t> ids, mask, types, pooled, expansion;
};

/// Encodes all texts, or pairs of texts (`pairs` may be NULL), as encodeText()
/// does, runs them and hands each one's rows to `take`. `cut` is set to the
/// number of texts that were truncated.
Result<void> runTexts(Session &session, const TextUses &uses,
                      const transom_text *texts, const transom_text *pairs,
                      size_t count, size_t &cut, const TakeRows &take);

/// The tokens of a text by its number.
using EncodeNumbered = std::function<Result<Encoding>(size_t text)>;
/// The same for texts that `encode` gives the tokens of.
Result<void> runEncoded(Session &session, const TextUses &uses, size_t count,
                        const EncodeNumbered &encode, size_t &cut,
                        const TakeRows &take);

/// Names one of several texts in an error.
Error inText(size_t index, size_t count, Error error);

} // namespace transom
