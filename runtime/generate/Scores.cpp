// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens whose logits are not needed are fed without logits; the others are fed
// in chunks limited by the logits per step.
#include "runtime/generate/Scores.h"
#include <algorithm>

using namespace transom;

namespace {

/// An open sequence.
class OpenSequence {
public:
  static Result<OpenSequence> create(LogitsSource &source) {
    TRANSOM_ASSIGN(int32_t opened, source.create());
    return OpenSequence(source, opened);
  }
  OpenSequence(OpenSequence &&other) noexcept
      : source(other.source), handle(std::exchange(other.handle, -1)) {}
  ~OpenSequence() {
    if (handle >= 0)
      source.free(handle);
  }
  int32_t get() const { return handle; }

private:
  OpenSequence(LogitsSource &source, int32_t handle)
      : source(source), handle(handle) {}
  LogitsSource &source;
  int32_t handle;
};

} // namespace

static Result<void> checkScored(LogitsSource &source, const int64_t *tokens,
                                size_t count, size_t first,
                                const std::string &name) {
  if (source.hasSources())
    return unsupported("scoring a text by itself needs a decoder; the entry "
                       "'score' of an encoder-decoder scores targets");
  if (count == 0 || first == 0 || first > count)
    return rejected(name + " has no tokens to score");
  // Check the length first, so an invalid one is not used to read tokens.
  if (count > size_t(source.longest()))
    return limitError(name + " has " + std::to_string(count) +
                      " tokens, more than the " +
                      (source.context() && *source.context() == source.longest()
                           ? "model's context of "
                           : "session's cache of ") +
                      std::to_string(source.longest()));
  return checkTokens(tokens, count, source.vocabulary(), name);
}

Result<TokenScores> transom::scoreTokens(LogitsSource &source,
                                         const int64_t *tokens, size_t count,
                                         size_t first, int64_t topCount,
                                         const std::string &name) {
  TRANSOM_TRY(checkScored(source, tokens, count, first, name));
  TokenScores scores;
  if (first == count)
    return scores;
  const int64_t width = source.width();
  GenerationConfig config;
  config.sample = false;
  config.topLogprobs = topCount;
  Sampler sampler(config, width);
  TRANSOM_ASSIGN(OpenSequence sequence, OpenSequence::create(source));
  // The last token is only looked up, never fed.
  size_t fed = 0;
  while (fed + 1 < count) {
    const size_t skipped = fed + 1 < first ? first - 1 - fed : 0;
    const size_t numLogits =
        std::min(size_t(source.maxLogits()), count - 1 - fed - skipped);
    const NewTokens rows{sequence.get(), tokens + fed,
                         int64_t(skipped + numLogits), int64_t(numLogits)};
    TRANSOM_ASSIGN(const float *logits, source.step(&rows, 1));
    fed += skipped;
    for (size_t i = 0; i != numLogits; ++i, ++fed) {
      const float *row = logits + int64_t(i) * width;
      if (firstNonFinite(row, width) >= 0)
        return nonFiniteLogit(int64_t(fed), name);
      const double sum = logSumExp(row, width);
      scores.logprobs.push_back(double(row[tokens[fed + 1]]) - sum);
      if (topCount > 0)
        sampler.appendTop(row, size_t(topCount), sum, scores.top);
    }
  }
  return Result<TokenScores>(std::move(scores));
}

Result<TextScore>
transom::scoreWindows(LogitsSource &source, const std::vector<int64_t> &tokens,
                      int64_t window, int64_t stride,
                      const std::function<bool(const TextScore &)> &tell) {
  TextScore score;
  const int64_t count = int64_t(tokens.size());
  if (window < 2 || stride < 1 || stride > window)
    return usageError("a window of " + std::to_string(window) +
                      " tokens and a stride of " + std::to_string(stride) +
                      ": a window has at least 2, a stride is in [1, window]");
  int64_t scored = 0; // tokens up to here are scored or skipped
  // Score the tokens in each window that no earlier one contains.
  for (int64_t begin = 0; scored < count; begin += stride) {
    const int64_t end = std::min(begin + window, count);
    const int64_t first = std::max<int64_t>(1, scored - begin);
    scored = end;
    if (first >= end - begin)
      continue;
    TRANSOM_ASSIGN(TokenScores scores,
                   scoreTokens(source, tokens.data() + begin,
                               size_t(end - begin), size_t(first), 0,
                               "the text"));
    // Add up the scores, and report progress.
    for (double logprob : scores.logprobs)
      score.sum += logprob;
    score.tokens += int64_t(scores.logprobs.size());
    ++score.windows;
    if (tell && !tell(score))
      break;
  }
  return score;
}
