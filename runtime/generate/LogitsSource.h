// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What generation and scoring need of a model: sequences with a past, and steps
// that give logits. A session's decoder is one; tests bring their own.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace transom {

/// New tokens of one sequence; the last `numLogits` of them give logits.
struct NewTokens {
  int32_t sequence;
  const int64_t *tokens;
  int64_t count;
  int64_t numLogits;
};

/// A row of logits and its summary by groups of columns (see
/// runtime/abi/RowSummary.h). Maxima and sums may be NULL.
struct LogitRow {
  LogitRow(const float *logits, const float *maxima = nullptr,
           const float *sums = nullptr)
      : logits(logits), maxima(maxima), sums(sums) {}
  /// The logit of a token that the row has.
  float get(int64_t token) const {
    return logits[columns ? columns[token] : token];
  }

  const float *logits; ///< [width], or those of some tokens
  const float *maxima; ///< [groups]
  const float *sums;   ///< [groups], or NULL
  /// By token: the index of its logit, where a row has those of some tokens.
  const int32_t *columns = nullptr;
};

/// The rows of logits of a step, and their summaries.
struct LogitRows {
  LogitRow get(size_t row, int64_t width) const;

  const float *logits;           ///< [rows, width]
  const float *maxima = nullptr; ///< [rows, groups], or NULL
  const float *sums = nullptr;   ///< likewise
  /// Of listed tokens: the column of each token, and the length of rows.
  const int32_t *columns = nullptr;
  int64_t numColumns = 0;
};

/// The ids of a source of an encoder-decoder.
struct SourceTokens {
  const int64_t *ids;  ///< [count]
  const int64_t *mask; ///< [count] of 0 and 1; NULL: all are tokens
  int64_t count;
};

/// The functions mean what those of DecodeEngine mean that have their names;
/// see runtime/decode/DecodeEngine.h.
class LogitsSource {
public:
  virtual Result<int32_t> create() = 0;
  /// Of an encoder-decoder, whose sequences begin with sources.
  virtual bool hasSources() const { return false; }
  virtual Result<void> addSources(const SourceTokens *, size_t, int32_t *) {
    return usageError("the model has no encoder");
  }
  virtual int64_t longestSource() const { return 0; }
  /// Ids of sources are in [0, sourceVocabulary()).
  virtual int64_t sourceVocabulary() const { return vocabulary(); }
  virtual void free(int32_t sequence) = 0;
  virtual Result<int32_t> copy(int32_t sequence) = 0;
  virtual Result<void> rewind(int32_t sequence, int64_t length) = 0;
  virtual Result<const float *> step(const NewTokens *inputs, size_t count) = 0;
  /// As step(), with the summary of each row if the source makes one: the
  /// maxima, and the sums of exponentials where `needsSums`.
  virtual Result<LogitRows> stepSummarized(const NewTokens *inputs,
                                           size_t count, bool needsSums);
  /// As step(), with rows of the logits of these tokens alone: at most
  /// maxListed() of them, which is 0 where there is no such step.
  virtual Result<const float *> stepListed(const NewTokens *, size_t,
                                           const std::vector<int64_t> &) {
    return usageError("the model gives no logits of listed tokens");
  }
  virtual int64_t maxListed() const { return 0; }
  virtual int64_t width() const = 0;
  virtual std::optional<int64_t> context() const = 0;
  virtual int64_t vocabulary() const = 0;
  virtual int64_t maxLogits() const = 0;
  virtual int64_t freePositions() const = 0;
  virtual int64_t maxSequences() const = 0;
  virtual int64_t freeSequences() const = 0;
  virtual int64_t longest() const = 0;

  /// Calls body(context, index, worker) for all indices below `count`, on
  /// numWorkers() threads if the source has some. Fails if a host's threads do.
  using Body = void (*)(void *context, size_t index, unsigned worker);
  virtual Result<void> forEach(size_t count, Body body, void *context) {
    for (size_t index = 0; index != count; ++index)
      body(context, index, 0);
    return {};
  }
  virtual unsigned numWorkers() const { return 1; }

protected:
  ~LogitsSource() = default;
};

/// The status of a step that was cancelled; transom_status has the same number.
inline constexpr Status cancelledStep = Status(130);

/// An error unless all tokens lie in the vocabulary; `what` names the tokens.
Result<void> checkTokens(const int64_t *tokens, size_t count,
                         int64_t vocabulary, const std::string &what);

/// The error for logits with a NaN or infinity. It begins with `sequence`, the
/// name of the prompt, text or row.
Error nonFiniteLogit(int64_t position, const std::string &sequence);

} // namespace transom
