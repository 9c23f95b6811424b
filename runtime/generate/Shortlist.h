// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lexical shortlist of a translator: the target tokens that may translate a
// source, and rows of logits that have only those.
#pragma once
#include "runtime/generate/LogitsSource.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace transom {

/// A view of the section `Shortlist` of a tokenizer's tables, which outlive it.
class Shortlist {
public:
  /// Nothing where the tables have none. `Rejected` for a malformed one.
  static Result<std::optional<Shortlist>> open(const Tokenizer &tokenizer);

  /// The tokens that a translation of these source tokens may have, ascending,
  /// each once, all below `vocabulary`: the first ones of the vocabulary, the
  /// listed ones of each source token, and the source tokens themselves where
  /// source and target have one vocabulary.
  std::vector<int64_t> getTokens(const std::vector<int64_t> &source,
                                 int64_t vocabulary) const;

private:
  Shortlist() = default;
  uint32_t first = 0;
  bool copiesSource = false;
  tokenizer::ArrayView<uint32_t> offsets; ///< by source token, and the end
  tokenizer::ArrayView<uint32_t> targets;
};

/// A row of logits of which only listed tokens can come.
class RestrictedRow {
public:
  explicit RestrictedRow(int64_t width) : width(width) {}

  /// Gathers the logits of the tokens of a list, which are in the row. False
  /// where one of them is not finite; the others are not read. Takes its memory
  /// at the first call.
  bool gather(const LogitRow &logits, const std::vector<int64_t> &tokens);
  /// The same, and fills the row.
  bool restrict(const LogitRow &logits, const std::vector<int64_t> &tokens);

  /// In the order of the list.
  const std::vector<float> &getLogits() const { return listed; }
  /// [width], minus infinity but for the tokens of the list.
  std::vector<float> &getRow() { return row; }
  /// The logarithm of the sum of the exponentials, bit for bit that of a row
  /// of the listed logits alone.
  double getLogSum() const;

private:
  int64_t width;
  std::vector<float> row, listed;
};

} // namespace transom
