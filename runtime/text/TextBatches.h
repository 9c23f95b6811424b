// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs texts through entries that take tokens: forms batches that fit the
// session, and passes on each text's result rows. A text's rows have the same
// bits in any batch.
#pragma once
#include "runtime/session/Session.h"
#include <functional>

namespace transom {

/// The results for one text.
struct TextRows {
  size_t text; ///< the text's index
  const Encoding &encoding;
  /// The first row of each result; NULL if the text has no token.
  std::vector<const float *> rows;
  /// Rows in each result: one per token, or 1 if the entry returns one per
  /// text; 0 if the text has no token.
  size_t count;
};
using TakeRows = std::function<void(const TextRows &rows)>;

/// Results of one entry, computed together; at least one.
using TextUses = std::vector<Model::TextUse>;

/// Collects encoded texts and runs them sorted by length, in batches padded to
/// the longest text.
class TextBatcher {
public:
  TextBatcher(Session &session, TextUses uses);

  void add(size_t text, Encoding encoding);
  size_t size() const { return texts.size(); }
  /// Max number of texts that should be run together.
  size_t window() const;

  /// Runs and removes all collected texts.
  Result<void> flush(const TakeRows &take);

private:
  Result<void> runBatch(const size_t *order, size_t batch, size_t columns,
                        const TakeRows &take);

  Session &session;
  TextUses uses;
  int64_t padding = 0;
  bool runsEmpty = false; ///< texts without tokens run as padding
  std::vector<size_t> texts;
  std::vector<Encoding> encodings;
  std::vector<int64_t> ids, mask, types, pooled, expansion;
};

/// Encodes all texts, or pairs of texts (`pairs` may be NULL), as encodeText()
/// does, runs them and passes each text's rows to `take`. `cut` is set to the
/// number of truncated texts.
Result<void> runTexts(Session &session, const TextUses &uses,
                      const transom_text *texts, const transom_text *pairs,
                      size_t count, size_t &cut, const TakeRows &take);

/// Returns a text's tokens by index.
using EncodeNumbered = std::function<Result<Encoding>(size_t text)>;
/// Does the same for texts that `encode` tokenizes.
Result<void> runEncoded(Session &session, const TextUses &uses, size_t count,
                        const EncodeNumbered &encode, size_t &cut,
                        const TakeRows &take);

/// Adds the text's index to an error if there are several texts.
Error inText(size_t index, size_t count, Error error);

} // namespace transom
