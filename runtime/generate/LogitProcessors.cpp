// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each processor takes at most linear time in the sequence or source length;
// sets of seen tokens are numbered, so they need not be cleared.
#include "runtime/generate/LogitProcessors.h"
#include <limits>

using namespace transom;

static constexpr float never = -std::numeric_limits<float>::infinity();

//===----------------------------------------------------------------------===//
// EditedRow
//===----------------------------------------------------------------------===//

EditedRow::EditedRow(int64_t width) : places(size_t(width)) {
  edits.reserve(size_t(width));
}

void EditedRow::begin(const float *row, double sum) {
  logits = row;
  logSum = sum;
  uniform.reset();
  edits.clear();
}

void EditedRow::set(int64_t token, float value) {
  uint32_t &place = places[size_t(token)];
  if (isEdited(token)) {
    edits[place].value = value;
    return;
  }
  place = uint32_t(edits.size());
  edits.push_back({token, value});
}

void EditedRow::setAll(float value) {
  uniform = value;
  edits.clear();
}

//===----------------------------------------------------------------------===//
// LogitProcessors
//===----------------------------------------------------------------------===//

LogitProcessors::LogitProcessors(const GenerationConfig &config,
                                 int64_t vocabulary)
    : config(config), vocabulary(vocabulary) {
  if (config.forcedBegin)
    forcedBegin = {*config.forcedBegin};
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

bool LogitProcessors::forcesBegin(const SamplingPosition &position) const {
  return !forcedBegin.empty() && position.count == 1;
}

bool LogitProcessors::forcesEnd(const SamplingPosition &position) const {
  return !config.forcedEnd.empty() && position.count + 1 == position.maxLength;
}

/// True at the first new token that is not forced, where begin_suppress_tokens
/// applies.
bool LogitProcessors::isBegin(const SamplingPosition &position) const {
  const bool isForced = position.promptCount == 1 && !forcedBegin.empty();
  return position.made() == (isForced ? 1 : 0);
}

bool LogitProcessors::changes(const SamplingPosition &position) const {
  return !config.logitBias.empty() || !seenAt.empty() ||
         config.noRepeatNgramSize > 0 || config.encoderNoRepeatNgramSize > 0 ||
         !config.badWords.empty() || barsEnd(position) ||
         forcesBegin(position) || forcesEnd(position) ||
         !config.suppressed.empty() ||
         (isBegin(position) && !config.suppressedAtBegin.empty());
}

template <typename Row>
void LogitProcessors::ban(Row &row, const std::vector<int64_t> &tokens) const {
  for (int64_t token : tokens)
    if (inVocabulary(token))
      row.set(token, never);
}

template <typename Row>
void LogitProcessors::force(Row &row,
                            const std::vector<int64_t> &tokens) const {
  row.setAll(never);
  for (int64_t token : tokens)
    if (inVocabulary(token))
      row.set(token, 0);
}

void LogitProcessors::beginSeen() {
  if (++set != 0)
    return;
  std::fill(seenAt.begin(), seenAt.end(), 0);
  set = 1;
}

template <typename Row>
void LogitProcessors::applyRepetition(Row &row,
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
    const float logit = row.get(token);
    row.set(token, logit < 0 ? logit * penalty : logit / penalty);
  }
}

template <typename Row>
void LogitProcessors::applyCounts(Row &row, const SamplingPosition &position) {
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
    const int64_t token = position.tokens[i];
    if (!inVocabulary(token) || seenAt[size_t(token)] != set)
      continue;
    seenAt[size_t(token)] = set - 1; // apply only once
    const double penalty =
        config.frequencyPenalty * double(counts[size_t(token)]) +
        config.presencePenalty;
    row.set(token, float(double(row.get(token)) - penalty));
  }
}

template <typename Row>
void LogitProcessors::applyNgrams(Row &row, const SamplingPosition &position,
                                  size_t size, const int64_t *among,
                                  size_t count) const {
  if (size == 0 || position.count + 1 < size)
    return;
  const int64_t *tail = position.tokens + position.count - (size - 1);
  for (size_t i = 0; i + size <= count; ++i) {
    const int64_t *gram = among + i;
    if (std::equal(tail, tail + (size - 1), gram) &&
        inVocabulary(gram[size - 1]))
      row.set(gram[size - 1], never);
  }
}

/// An end token is never a bad word, even if it is in the list.
template <typename Row>
void LogitProcessors::applyBadWords(Row &row,
                                    const SamplingPosition &position) const {
  const int64_t *end = position.tokens + position.count;
  for (const std::vector<int64_t> &word : config.badWords) {
    const size_t before = word.size() - 1;
    if (!inVocabulary(word.back()) || before > position.count ||
        !std::equal(word.begin(), word.end() - 1, end - before) ||
        (before == 0 && config.isEnd(word.back())))
      continue;
    row.set(word.back(), never);
  }
}

template <typename Row>
void LogitProcessors::apply(Row &row, const SamplingPosition &position) {
  for (auto [token, bias] : config.logitBias)
    if (inVocabulary(token))
      row.set(token, float(double(row.get(token)) + bias));
  applyRepetition(row, position);
  applyCounts(row, position);
  applyNgrams(row, position, size_t(config.noRepeatNgramSize), position.tokens,
              position.count);
  applyNgrams(row, position, size_t(config.encoderNoRepeatNgramSize),
              position.source, position.sourceCount);
  applyBadWords(row, position);
  if (barsEnd(position))
    ban(row, config.endTokens);
  if (forcesBegin(position))
    force(row, forcedBegin);
  if (forcesEnd(position))
    force(row, config.forcedEnd);
  ban(row, config.suppressed);
  if (isBegin(position))
    ban(row, config.suppressedAtBegin);
}

template void LogitProcessors::apply(DenseRow &, const SamplingPosition &);
template void LogitProcessors::apply(EditedRow &, const SamplingPosition &);
