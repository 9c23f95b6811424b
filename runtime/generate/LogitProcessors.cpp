// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each processor costs at most the length of the sequence; which tokens were
// seen is kept by numbering the sets, so that nothing has to be cleared.
#include "runtime/generate/LogitProcessors.h"
#include <algorithm>
#include <limits>

using namespace transom;

static constexpr float never = -std::numeric_limits<float>::infinity();

LogitProcessors::LogitProcessors(const GenerationConfig &config,
                                 int64_t vocabulary)
    : config(config), vocabulary(vocabulary) {
  if (config.repetitionPenalty == 1 && config.presencePenalty == 0 &&
      config.frequencyPenalty == 0)
    return;
  seenAt.resize(size_t(vocabulary));
  counts.resize(size_t(vocabulary));
}

bool LogitProcessors::barsEnd(const SamplingPosition &position) const {
  return !config.endTokens.empty() &&
         int64_t(position.made()) <
             config.fewestNewTokens(int64_t(position.promptCount));
}

bool LogitProcessors::changes(const SamplingPosition &position) const {
  return !config.logitBias.empty() || !seenAt.empty() ||
         config.noRepeatNgramSize > 0 || barsEnd(position) ||
         !config.suppressed.empty() ||
         (position.made() == 0 && !config.suppressedAtBegin.empty());
}

void LogitProcessors::ban(float *logits,
                          const std::vector<int64_t> &tokens) const {
  for (int64_t token : tokens)
    if (inVocabulary(token))
      logits[token] = never;
}

void LogitProcessors::beginSeen() {
  if (++set != 0)
    return;
  std::fill(seenAt.begin(), seenAt.end(), 0);
  set = 1;
}

void LogitProcessors::applyRepetition(float *logits,
                                      const SamplingPosition &position) {
  if (config.repetitionPenalty == 1)
    return;
  beginSeen();
  const float penalty = float(config.repetitionPenalty);
  for (size_t i = 0; i != position.count; ++i) {
    const int64_t token = position.tokens[i];
    if (!inVocabulary(token) || seenAt[size_t(token)] == set)
      continue;
    seenAt[size_t(token)] = set;
    float &logit = logits[token];
    logit = logit < 0 ? logit * penalty : logit / penalty;
  }
}

void LogitProcessors::applyCounts(float *logits,
                                  const SamplingPosition &position) {
  if (config.presencePenalty == 0 && config.frequencyPenalty == 0)
    return;
  beginSeen();
  for (size_t i = position.promptCount; i != position.count; ++i) {
    const size_t token = size_t(position.tokens[i]);
    if (!inVocabulary(position.tokens[i]))
      continue;
    if (seenAt[token] != set)
      counts[token] = 0;
    seenAt[token] = set;
    ++counts[token];
  }
  for (size_t i = position.promptCount; i != position.count; ++i) {
    const size_t token = size_t(position.tokens[i]);
    if (!inVocabulary(position.tokens[i]) || seenAt[token] != set)
      continue;
    seenAt[token] = set - 1; // once is enough
    const double penalty = config.frequencyPenalty * double(counts[token]) +
                           config.presencePenalty;
    logits[token] = float(double(logits[token]) - penalty);
  }
}

void LogitProcessors::applyNgrams(float *logits,
                                  const SamplingPosition &position) const {
  const size_t size = size_t(config.noRepeatNgramSize);
  if (size == 0 || position.count + 1 < size)
    return;
  const int64_t *tail = position.tokens + position.count - (size - 1);
  for (size_t i = 0; i + size <= position.count; ++i) {
    const int64_t *gram = position.tokens + i;
    if (std::equal(tail, tail + (size - 1), gram) &&
        inVocabulary(gram[size - 1]))
      logits[gram[size - 1]] = never;
  }
}

void LogitProcessors::apply(float *logits, const SamplingPosition &position) {
  for (auto [token, bias] : config.logitBias)
    if (inVocabulary(token))
      logits[token] = float(double(logits[token]) + bias);
  applyRepetition(logits, position);
  applyCounts(logits, position);
  applyNgrams(logits, position);
  if (barsEnd(position))
    ban(logits, config.endTokens);
  ban(logits, config.suppressed);
  if (position.made() == 0)
    ban(logits, config.suppressedAtBegin);
}
