// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A translator's lexical shortlist: the target tokens that may translate a
// source, and rows of logits restricted to these tokens.
#pragma once
#include "runtime/generate/LogitsSource.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace transom {

/// A view of the section `Shortlist` in a tokenizer's tables, which must
/// outlive it.
class Shortlist {
public:
  /// Returns nullopt if the tables have none. `Rejected` for a malformed one.
  static Result<std::optional<Shortlist>> open(const Tokenizer &tokenizer);

  /// Returns the tokens that a translation of these source tokens may have,
  /// ascending, each once, all below `vocabulary`: the first tokens in the
  /// vocabulary, each source token's list, and the source tokens themselves if
  /// source and target share a vocabulary.
  std::vector<int64_t> getTokens(const std::vector<int64_t> &source,
                                 int64_t vocabulary) const;

private:
  Shortlist() = default;
  uint32_t first = 0;
  bool copiesSource = false;
  tokenizer::ArrayView<uint32_t> offsets; ///< by source token, and the end
  tokenizer::ArrayView<uint32_t> targets;
};

/// A row of logits in which only listed tokens are allowed.
class RestrictedRow {
public:
  explicit RestrictedRow(int64_t width) : width(width) {}

  /// Gathers the logits for the listed tokens, which must be in the row.
  /// Returns false if one is not finite; other logits are not read. Allocates
  /// memory in the first call.
  bool gather(const LogitRow &logits, const std::vector<int64_t> &tokens);
  /// Does the same, and fills the row.
  bool restrict(const LogitRow &logits, const std::vector<int64_t> &tokens);

  /// Logits in list order.
  const std::vector<float> &getLogits() const { return listed; }
  /// [width], minus infinity except for the listed tokens.
  std::vector<float> &getRow() { return row; }
  /// Returns the logarithm of the sum of exponentials, bit for bit equal to
  /// logSumExp() over only the listed logits.
  double getLogSum() const;

private:
  int64_t width;
  std::vector<float> row, listed;
};

} // namespace transom
