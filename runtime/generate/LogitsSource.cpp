// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks and messages shared by generation and scoring.
#include "runtime/generate/LogitsSource.h"
#include "runtime/abi/RowSummary.h"

using namespace transom;

LogitRow LogitRows::get(size_t row, int64_t width) const {
  if (columns) {
    LogitRow listed(logits + int64_t(row) * numColumns);
    listed.columns = columns;
    return listed;
  }
  const int64_t index = int64_t(row),
                group = index * getNumSummaryGroups(width);
  return {logits + index * width, maxima ? maxima + group : nullptr,
          sums ? sums + group : nullptr};
}

Result<LogitRows> LogitsSource::stepSummarized(const NewTokens *inputs,
                                               size_t count, bool) {
  TRANSOM_ASSIGN(const float *logits, step(inputs, count));
  return LogitRows{logits};
}

Result<void> transom::checkTokens(const int64_t *tokens, size_t count,
                                  int64_t vocabulary, const std::string &what) {
  for (size_t i = 0; i != count; ++i)
    if (tokens[i] < 0 || tokens[i] >= vocabulary)
      return rejected(what + ": id " + std::to_string(tokens[i]) +
                      " at position " + std::to_string(i) +
                      " lies outside the vocabulary of " +
                      std::to_string(vocabulary));
  return {};
}

Error transom::nonFiniteLogit(int64_t position, const std::string &sequence) {
  return rejected(sequence + ": non-finite logit at position " +
                  std::to_string(position) +
                  ": the weights or the input give NaN or infinity");
}
