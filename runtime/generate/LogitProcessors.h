// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Logits processors, which change logits before a token is chosen: biases,
// penalties for repeated tokens, and token exclusion.
#pragma once
#include "runtime/generate/GenerationConfig.h"
#include <algorithm>

namespace transom {

/// The position for which a token is chosen: the sequence's tokens so far,
/// beginning with the prompt.
struct SamplingPosition {
  const int64_t *tokens = nullptr;
  size_t count = 0;            ///< token count
  size_t promptCount = 0;      ///< number of prompt tokens
  uint64_t continuation = 0;   ///< selects the random stream
  size_t maxLength = SIZE_MAX; ///< max token count
  /// An encoder-decoder's source, or a decoder's prompt.
  const int64_t *source = nullptr;
  size_t sourceCount = 0;
  /// The allowed tokens, ascending; null: all.
  const std::vector<int64_t> *allowed = nullptr;
  size_t made() const { return count - promptCount; }
};

/// A row of logits that processors modify in place.
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

/// A row of log-probabilities with a list of edited tokens. The original row is
/// neither modified nor copied.
class EditedRow {
public:
  explicit EditedRow(int64_t width);

  /// Begins with a row's log-probabilities; the row must stay valid. `logSum`
  /// is its logSumExp().
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
  /// True if a token has been set since begin() or setAll().
  bool isEdited(int64_t token) const {
    const uint32_t place = places[size_t(token)];
    return place < edits.size() && edits[place].token == token;
  }
  /// Returns the tokens that have been set since begin() or setAll(), each
  /// once.
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
  std::vector<uint32_t> places; ///< by token: index in `edits`, if edited
};

/// The processors in a configuration, in the same order as in transformers:
/// logit bias (its SequenceBias), repetition penalty, then frequency and
/// presence penalties (from the OpenAI API: over new tokens only), repeated
/// n-grams, source n-grams, bad words, end tokens before the min new token
/// count, forced first and last tokens, tokens that are suppressed always or at
/// the beginning.
class LogitProcessors {
public:
  /// `config` is resolved and must outlive this object; tokens outside the
  /// vocabulary have no effect.
  LogitProcessors(const GenerationConfig &config, int64_t vocabulary);

  /// True if `apply` would change the row at this position.
  bool changes(const SamplingPosition &position) const;
  /// Modifies the row, a DenseRow or an EditedRow; a suppressed token gets
  /// minus infinity. Allocates nothing.
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
  /// Begins a new set of seen tokens.
  void beginSeen();
  template <typename Row>
  void applyRepetition(Row &row, const SamplingPosition &position);
  template <typename Row>
  void applyCounts(Row &row, const SamplingPosition &position);
  /// Excludes the last token of each n-gram in `among` whose other tokens equal
  /// the last tokens before the position.
  template <typename Row>
  void applyNgrams(Row &row, const SamplingPosition &position, size_t size,
                   const int64_t *among, size_t count) const;
  template <typename Row>
  void applyBadWords(Row &row, const SamplingPosition &position) const;

  const GenerationConfig &config;
  int64_t vocabulary;
  std::vector<int64_t> forcedBegin; ///< the token, if one is forced
  std::vector<uint32_t> seenAt; ///< by token: the last set in which it was seen
  std::vector<uint32_t> counts; ///< by token: its count in that set
  uint32_t set = 0;
};

} // namespace transom
