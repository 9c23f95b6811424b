// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the next token from a row of logits. The same logits, settings, seed
// and position give the same token on every machine: see Softmax.h and
// Random.h.
#pragma once
#include "runtime/generate/LogitProcessors.h"
#include "runtime/generate/LogitsSource.h"
#include "runtime/generate/Shortlist.h"
#include "runtime/generate/Softmax.h"

namespace transom {

/// A token and the logarithm of its probability.
struct TokenLogprob {
  int64_t token;
  double logprob;
};

/// One sampler serves all sequences of a generation. All memory is taken when
/// it is made.
class Sampler {
public:
  /// `config` is resolved and outlives the sampler.
  Sampler(const GenerationConfig &config, int64_t vocabulary);

  /// The next token. Greedy: the first of the largest. Else temperature, then
  /// the `top_k` largest (with all that equal the last of them), then the
  /// fewest of the largest whose probabilities reach `top_p`, then those that
  /// have `min_p` of the largest's probability; one of these by its share.
  /// `Rejected` for a logit that is NaN or infinite, and where none is left to
  /// be chosen.
  Result<int64_t> choose(const LogitRow &logits,
                         const SamplingPosition &position);

  /// Whether all logits that can come are finite.
  bool areFinite(const LogitRow &logits, const SamplingPosition &position);

  /// The tokens that the last choice by sampling was made among.
  const std::vector<int32_t> &candidates() const { return kept; }

  /// Appends the `count` most probable tokens of a row as the model gave it,
  /// the first ids of equal ones. `logSum` is its logSumExp().
  void appendTop(const float *logits, size_t count, double logSum,
                 std::vector<TokenLogprob> &out);

  /// Appends the log-probability of a token to `logprobs`, and as appendTop()
  /// those of `count` tokens to `top`; where only listed tokens can come,
  /// probabilities are of those.
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
  /// Keeps those for whose index in the list `keep` is true.
  template <typename Keep> void filter(Keep keep);
  /// Sorts by falling logit, then rising id.
  void sortByLogit(std::vector<int32_t> &tokens) const;

  const GenerationConfig &config;
  int64_t vocabulary;
  LogitProcessors processors;
  EditedRow edited; ///< without sampling: the logits after the processors
  RowScan scan;
  RestrictedRow restricted;     ///< where only listed tokens can come
  const float *row = nullptr;   ///< of the choice that is being made; minus
                                ///< infinity for suppressed tokens
  std::vector<float> processed; ///< logits after the processors
  std::vector<float> values;
  std::vector<int32_t> kept;   ///< tokens that may still be chosen, by id
  std::vector<double> weights; ///< theirs, the largest logit's is 1
  std::vector<double> buckets; ///< sums of weights of like logits
  std::vector<int32_t> order;  ///< tokens in the bucket of a border
};

} // namespace transom
