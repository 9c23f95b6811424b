// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scoring: the log-probabilities that the model gives to given tokens.
#pragma once
#include "runtime/generate/LogitsSource.h"
#include "runtime/generate/Sampler.h"
#include <functional>

namespace transom {

/// The log-probabilities of tokens [first, count) of a text.
struct TokenScores {
  std::vector<double> logprobs;
  /// The most probable tokens at each of these positions, as many as requested,
  /// or all of a smaller vocabulary.
  std::vector<TokenLogprob> top;
};

/// Scores tokens [first, count), first >= 1, each after all tokens before it.
/// `name` names the text in errors. The sequence is freed.
/// Errors: `Rejected` (ids out of range, a logit that is not finite), `Limit`
/// (longer than the context or the cache).
Result<TokenScores> scoreTokens(LogitsSource &source, const int64_t *tokens,
                                size_t count, size_t first, int64_t topCount,
                                const std::string &name);

/// The sum over a long text.
struct TextScore {
  double sum = 0;     ///< of log-probabilities
  int64_t tokens = 0; ///< that have been scored
  int64_t windows = 0;
};

/// Scores a text of any length in windows of `window` tokens that begin
/// `stride` tokens apart; each token is scored once, in the first window that
/// holds it after another one. `tell` (may be empty) is called after each
/// window; false ends the scoring.
Result<TextScore>
scoreWindows(LogitsSource &source, const std::vector<int64_t> &tokens,
             int64_t window, int64_t stride,
             const std::function<bool(const TextScore &)> &tell);

} // namespace transom
