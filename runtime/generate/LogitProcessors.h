// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What changes logits before a token is chosen: biases, penalties for tokens
// that were there before, and tokens that may not be chosen now.
#pragma once
#include "runtime/generate/GenerationConfig.h"

namespace transom {

/// The position at which a token is chosen: the tokens of its sequence so far,
/// first those of the prompt.
struct SamplingPosition {
  const int64_t *tokens = nullptr;
  size_t count = 0;          ///< of tokens
  size_t promptCount = 0;    ///< the first of them
  uint64_t continuation = 0; ///< its number selects the random stream
  size_t made() const { return count - promptCount; }
};

/// The processors that a configuration asks for, in the order of transformers:
/// logit bias (its SequenceBias), repetition penalty, then frequency and
/// presence penalties (of the OpenAI API: over new tokens alone), n-grams that
/// may not repeat, end tokens before the least number of new tokens, tokens
/// that are suppressed always or at the beginning.
class LogitProcessors {
public:
  /// `config` is resolved and outlives this; tokens outside the vocabulary have
  /// no effect.
  LogitProcessors(const GenerationConfig &config, int64_t vocabulary);

  /// True where `apply` would change something at this position.
  bool changes(const SamplingPosition &position) const;
  /// Changes the row in place; a suppressed token gets minus infinity.
  /// Allocates nothing.
  void apply(float *logits, const SamplingPosition &position);

private:
  bool inVocabulary(int64_t token) const {
    return token >= 0 && token < vocabulary;
  }
  bool barsEnd(const SamplingPosition &position) const;
  void ban(float *logits, const std::vector<int64_t> &tokens) const;
  /// Begins a new set of tokens that were seen.
  void beginSeen();
  void applyRepetition(float *logits, const SamplingPosition &position);
  void applyCounts(float *logits, const SamplingPosition &position);
  void applyNgrams(float *logits, const SamplingPosition &position) const;

  const GenerationConfig &config;
  int64_t vocabulary;
  std::vector<uint32_t> seenAt; ///< by token: the set that it was seen in
  std::vector<uint32_t> counts; ///< by token: how often, in that set
  uint32_t set = 0;
};

} // namespace transom
