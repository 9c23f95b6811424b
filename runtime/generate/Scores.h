// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scoring: the model's log-probabilities for given tokens.
#pragma once
#include "runtime/generate/LogitsSource.h"
#include "runtime/generate/Sampler.h"
#include <functional>

namespace transom {

/// Log-probabilities for tokens [first, count) in a text.
struct TokenScores {
  std::vector<double> logprobs;
  /// The most probable tokens at each position: the requested number, or all if
  /// the vocabulary is smaller.
  std::vector<TokenLogprob> top;
};

/// Scores tokens [first, count), first >= 1, each after all tokens before it.
/// `name` names the text in errors. The sequence is freed. Errors: `Rejected`
/// (ids out of range, a logit that is not finite, no tokens to score), `Limit`
/// (longer than the context or the cache), `Unsupported` (an encoder-decoder).
Result<TokenScores> scoreTokens(LogitsSource &source, const int64_t *tokens,
                                size_t count, size_t first, int64_t topCount,
                                const std::string &name);

/// The total score for a long text.
struct TextScore {
  double sum = 0;     ///< sum of log-probabilities
  int64_t tokens = 0; ///< number of scored tokens
  int64_t windows = 0;
};

/// Scores a text with any length in windows with `window` tokens that begin
/// `stride` tokens apart; each token is scored once, in the first window that
/// contains it after another token. `tell` (may be empty) is called after each
/// window; returning false ends the scoring. `Usage` unless window >= 2 and
/// stride is in [1, window].
Result<TextScore>
scoreWindows(LogitsSource &source, const std::vector<int64_t> &tokens,
             int64_t window, int64_t stride,
             const std::function<bool(const TextScore &)> &tell);

} // namespace transom
