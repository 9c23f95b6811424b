// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What changes logits before a token is chosen: biases, penalties for tokens
// that were there before, and tokens that may not be chosen now.
#pragma once
#include "runtime/generate/GenerationConfig.h"
#include <algorithm>

namespace transom {

/// The position at which a token is chosen: the tokens of its sequence so far,
/// first those of the prompt.
struct SamplingPosition {
  const int64_t *tokens = nullptr;
  size_t count = 0;            ///< of tokens
  size_t promptCount = 0;      ///< the first of them
  uint64_t continuation = 0;   ///< its number selects the random stream
  size_t maxLength = SIZE_MAX; ///< most tokens that there can be
  /// The source of an encoder-decoder; a decoder's prompt.
  const int64_t *source = nullptr;
  size_t sourceCount = 0;
  /// The only tokens that can come, ascending; null: all.
  const std::vector<int64_t> *allowed = nullptr;
  size_t made() const { return count - promptCount; }
};

/// A row of logits that processors change in place.
class DenseRow {
public:
  explicit DenseRow(float *values, int64_t width)
      : values(values), width(width) {}
  float get(int64_t token) const { return values[token]; }
  void set(int64_t token, float value) { values[token] = value; }
  void setAll(float value) { std::fill_n(values, width, value); }

private:
  float *values;
  int64_t width;
};

/// The log-probabilities of a row of logits, and what processors change of
/// them: a list of tokens. The row stays as it is, and there is no copy of it.
class EditedRow {
public:
  explicit EditedRow(int64_t width);

  /// Begins with the log-probabilities of a row, which has to stay; `logSum` is
  /// its logSumExp().
  void begin(const float *logits, double logSum);
  float get(int64_t token) const {
    return isEdited(token) ? edits[places[size_t(token)]].value
                           : getUnedited(token);
  }
  void set(int64_t token, float value);
  void setAll(float value);

  struct Edit {
    int64_t token;
    float value;
  };
  /// Whether a token has been set since begin() or setAll().
  bool isEdited(int64_t token) const {
    const uint32_t place = places[size_t(token)];
    return place < edits.size() && edits[place].token == token;
  }
  /// The tokens that have been set since begin() or setAll(), each once.
  const std::vector<Edit> &getEdits() const { return edits; }
  /// True if setAll() was called: all other tokens have one value.
  bool isUniform() const { return uniform.has_value(); }

private:
  float getUnedited(int64_t token) const {
    return uniform ? *uniform : float(double(logits[token]) - logSum);
  }

  const float *logits = nullptr;
  double logSum = 0;
  std::optional<float> uniform;
  std::vector<Edit> edits;
  std::vector<uint32_t> places; ///< by token: its place in `edits`, if there
};

/// The processors that a configuration asks for, in the order of transformers:
/// logit bias (its SequenceBias), repetition penalty, then frequency and
/// presence penalties (of the OpenAI API: over new tokens alone), n-grams that
/// may not repeat, n-grams of the source, bad words, end tokens before the
/// least number of new tokens, forced first and last tokens, tokens that are
/// suppressed always or at the beginning.
class LogitProcessors {
public:
  /// `config` is resolved and outlives this; tokens outside the vocabulary have
  /// no effect.
  LogitProcessors(const GenerationConfig &config, int64_t vocabulary);

  /// True where `apply` would change something at this position.
  bool changes(const SamplingPosition &position) const;
  /// Changes the row, a DenseRow or an EditedRow; a suppressed token gets minus
  /// infinity. Allocates nothing.
  template <typename Row>
  void apply(Row &row, const SamplingPosition &position);

private:
  bool inVocabulary(int64_t token) const {
    return token >= 0 && token < vocabulary;
  }
  bool barsEnd(const SamplingPosition &position) const;
  bool forcesBegin(const SamplingPosition &position) const;
  bool forcesEnd(const SamplingPosition &position) const;
  bool isBegin(const SamplingPosition &position) const;
  template <typename Row>
  void ban(Row &row, const std::vector<int64_t> &tokens) const;
  template <typename Row>
  void force(Row &row, const std::vector<int64_t> &tokens) const;
  /// Begins a new set of tokens that were seen.
  void beginSeen();
  template <typename Row>
  void applyRepetition(Row &row, const SamplingPosition &position);
  template <typename Row>
  void applyCounts(Row &row, const SamplingPosition &position);
  /// Excludes the last tokens of all n-grams of `among` whose other tokens are
  /// the last of the position.
  template <typename Row>
  void applyNgrams(Row &row, const SamplingPosition &position, size_t size,
                   const int64_t *among, size_t count) const;
  template <typename Row>
  void applyBadWords(Row &row, const SamplingPosition &position) const;

  const GenerationConfig &config;
  int64_t vocabulary;
  std::vector<int64_t> forcedBegin; ///< the token, if one is forced
  std::vector<uint32_t> seenAt;     ///< by token: the set that it was seen in
  std::vector<uint32_t> counts;     ///< by token: how often, in that set
  uint32_t set = 0;
};

} // namespace transom
