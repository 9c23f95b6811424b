// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model interface for generation and scoring: sequences with a past, and
// steps that return logits. A session's decoder implements it; tests have their
// own implementations.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace transom {

/// New tokens for one sequence; logits are returned for the last `numLogits`.
struct NewTokens {
  int32_t sequence;
  const int64_t *tokens;
  int64_t count;
  int64_t numLogits;
};

/// A logit row and its summary by column group (see
/// runtime/abi/RowSummary.h). Maxima and sums may be NULL.
struct LogitRow {
  LogitRow(const float *logits, const float *maxima = nullptr,
           const float *sums = nullptr)
      : logits(logits), maxima(maxima), sums(sums) {}
  /// Returns the logit for a token that the row contains.
  float get(int64_t token) const {
    return logits[columns ? columns[token] : token];
  }

  const float *logits; ///< [width], or only selected tokens
  const float *maxima; ///< [groups]
  const float *sums;   ///< [groups], or NULL
  /// By token: its logit index, if a row has only selected tokens.
  const int32_t *columns = nullptr;
};

/// A step's logit rows and their summaries.
struct LogitRows {
  LogitRow get(size_t row, int64_t width) const;

  const float *logits;           ///< [rows, width]
  const float *maxima = nullptr; ///< [rows, groups], or NULL
  const float *sums = nullptr;   ///< [rows, groups], or NULL
  /// With selected tokens: the column for each token, and the row length.
  const int32_t *columns = nullptr;
  int64_t numColumns = 0;
};

/// Source ids for one encoder-decoder sequence.
struct SourceTokens {
  const int64_t *ids;  ///< [count]
  const int64_t *mask; ///< [count], 0 or 1; NULL: all are tokens
  int64_t count;
};

/// The functions have the same meaning as the DecodeEngine functions with the
/// same names; see runtime/decode/DecodeEngine.h.
class LogitsSource {
public:
  virtual Result<int32_t> create() = 0;
  /// True for an encoder-decoder, whose sequences begin with sources.
  virtual bool hasSources() const { return false; }
  virtual Result<void> addSources(const SourceTokens *, size_t, int32_t *) {
    return usageError("the model has no encoder");
  }
  virtual int64_t longestSource() const { return 0; }
  /// Source ids are in [0, sourceVocabulary()).
  virtual int64_t sourceVocabulary() const { return vocabulary(); }
  virtual void free(int32_t sequence) = 0;
  virtual Result<int32_t> copy(int32_t sequence) = 0;
  virtual Result<void> rewind(int32_t sequence, int64_t length) = 0;
  virtual Result<const float *> step(const NewTokens *inputs, size_t count) = 0;
  /// Like step(), with row summaries if the source computes them: the maxima,
  /// and if `needsSums` is set the exponential sums.
  virtual Result<LogitRows> stepSummarized(const NewTokens *inputs,
                                           size_t count, bool needsSums);
  /// Like step(), with rows that contain only these tokens' logits: at most
  /// maxListed() tokens, which is 0 if this is not supported.
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
  /// numWorkers() threads if the source has threads. Fails if a host's threads
  /// do.
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

/// The status of a cancelled step; transom_status has the same value.
inline constexpr Status cancelledStep = Status(130);

/// Returns an error unless all tokens are in the vocabulary; `what` names the
/// tokens.
Result<void> checkTokens(const int64_t *tokens, size_t count,
                         int64_t vocabulary, const std::string &what);

/// Returns the error for logits with a NaN or infinity. The message begins with
/// `sequence`, the name of the prompt, text or row.
Error nonFiniteLogit(int64_t position, const std::string &sequence);

} // namespace transom
