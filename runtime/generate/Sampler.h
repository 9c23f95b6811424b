// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the next token from a row of logits. The same logits, settings, seed
// and position give the same token on every host: see Softmax.h and Random.h.
#pragma once
#include "runtime/generate/LogitProcessors.h"
#include "runtime/generate/LogitsSource.h"
#include "runtime/generate/Shortlist.h"
#include "runtime/generate/Softmax.h"

namespace transom {

/// A token and its log-probability.
struct TokenLogprob {
  int64_t token;
  double logprob;
};

/// One sampler serves all sequences in a generation. Allocates all memory in
/// the constructor.
class Sampler {
public:
  /// `config` is resolved and must outlive the sampler.
  Sampler(const GenerationConfig &config, int64_t vocabulary);

  /// Returns the next token. Greedy: the first of the largest. Sampling:
  /// temperature, then the `top_k` largest (including ties with the last one),
  /// then the fewest largest whose probabilities reach `top_p`, then those with
  /// at least `min_p` times the largest probability; one of these is drawn by
  /// its probability. `Rejected` for a logit that is NaN or infinite, and if no
  /// token is left.
  Result<int64_t> choose(const LogitRow &logits,
                         const SamplingPosition &position);

  /// True if the logits of all allowed tokens are finite.
  bool areFinite(const LogitRow &logits, const SamplingPosition &position);

  /// Returns the tokens from which the last sampled token was chosen.
  const std::vector<int32_t> &candidates() const { return kept; }

  /// Appends the `count` most probable tokens in a model's row, the first ids
  /// among equal ones. `logSum` is its logSumExp().
  void appendTop(const float *logits, size_t count, double logSum,
                 std::vector<TokenLogprob> &out);

  /// Appends a token's log-probability to `logprobs`, and `count` tokens as in
  /// appendTop() to `top`; if tokens are restricted, probabilities are relative
  /// to the allowed tokens.
  void appendLogprobs(const LogitRow &logits, const SamplingPosition &position,
                      int64_t token, size_t count,
                      std::vector<double> &logprobs,
                      std::vector<TokenLogprob> &top);

private:
  Result<int64_t> chooseLargest();
  Result<int64_t> chooseLargestListed(const SamplingPosition &position);
  Result<int64_t> chooseListed(const LogitRow &logits,
                               const SamplingPosition &position);
  int64_t sample(const SamplingPosition &position);
  double scale() const { return 1 / *config.temperature; }
  size_t getBucket(int32_t token) const;
  void keepTopK();
  void weigh();
  void keepTopP();
  /// Keeps the tokens for whose list index `keep` is true.
  template <typename Keep> void filter(Keep keep);
  /// Sorts by descending logit, then ascending id.
  void sortByLogit(std::vector<int32_t> &tokens) const;

  const GenerationConfig &config;
  int64_t vocabulary;
  LogitProcessors processors;
  EditedRow edited; ///< without sampling: the logits after the processors
  RowScan scan;
  RestrictedRow restricted;     ///< used if tokens are restricted
  const float *row = nullptr;   ///< the current row; minus infinity for
                                ///< suppressed tokens
  std::vector<float> processed; ///< logits after the processors
  std::vector<float> values;
  std::vector<int32_t> kept;   ///< remaining tokens, by id
  std::vector<double> weights; ///< of `kept`; 1 for the largest logit
  std::vector<double> buckets; ///< weight sums for similar logits
  std::vector<int32_t> order;  ///< tokens in the cutoff's bucket
};

} // namespace transom
