// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoding: cached sequences, and the step, on which everything else is based.
// A step appends new tokens to several sequences, each with its own past, and
// returns the requested logits. Prefill, prompt chunks, decoding and mixed
// batches are steps.
#pragma once
#include "runtime/abi/Abi.h"
#include "runtime/base/Error.h"
#include "runtime/decode/DecodeLayout.h"
#include "runtime/decode/SourceEncoder.h"
#include "runtime/execute/Executor.h"
#include "runtime/kvcache/PagedKvCache.h"
#include <cstdint>
#include <optional>
#include <string>

namespace transom {

/// Values that a step computes in addition to logits; see
/// runtime/abi/RowSummary.h.
enum class LogitSummary { None, Maxima, MaximaAndSums };

/// Step logits. Maxima and sums are [rows, groups]; NULL if they were not
/// requested, or if the model does not compute them.
struct StepLogits {
  float *logits = nullptr; ///< [rows, width]
  float *maxima = nullptr;
  float *sums = nullptr;
};

/// Token ids whose logits are requested. The GEMM copies only the columns for
/// ids that were not at the same index in the last call, so callers keep the
/// index of recurring ids.
struct ListedTokens {
  const int64_t *ids = nullptr;
  int64_t count = 0;
};

/// A session's sequences and their steps. Not thread-safe. step, create, copy,
/// rewind and free allocate nothing. On error nothing changes.
class DecodeEngine {
public:
  /// Uses the executor's memory as specified by `layout`. The executor's model
  /// has a step; the executor and the layout outlive the engine.
  DecodeEngine(Executor &executor, const DecodeLayout &layout);

  /// Creates an empty sequence; `Limit` if all are in use.
  Result<int32_t> create();
  /// Frees a sequence and its blocks; one that does not exist is ignored.
  void free(int32_t sequence);
  /// Creates a sequence with the same past. The two share blocks; a block is
  /// copied when one of them writes to it.
  Result<int32_t> copy(int32_t sequence);
  /// Removes position `length` and all after it. `Limit` if a window has
  /// dropped positions that would be visible again. A rewind to 0 succeeds; so
  /// does one to the start of the sequence's last run unless the cache was
  /// full.
  Result<void> rewind(int32_t sequence, int64_t length);
  /// Whether a sequence is in use.
  bool exists(int32_t sequence) const { return cache.exists(sequence); }
  /// The sequence length in tokens; 0 if it does not exist.
  int64_t length(int32_t sequence) const;

  /// Whether the model is an encoder-decoder, whose sequences are created from
  /// sources.
  bool hasSources() const { return sources.has_value(); }
  /// Encodes sources and creates a sequence for each, in input order. Copies of
  /// a sequence share the results. A source's encoder row and its keys and
  /// values do not depend on the other sources.
  ///
  /// Errors: `Rejected` (a source without a token, wrong ids or masks), `Limit`
  /// (longer than longestSource(), no free sequences, no room in the caches),
  /// `Usage` (not an encoder-decoder). On error no sequence is created.
  Result<void> addSources(const SourceInput *inputs, size_t count,
                          int32_t *sequences);
  /// Maximum number of columns in a source up to its last token.
  int64_t longestSource() const { return sources ? sources->longest() : 0; }

  /// Gives a sequence blocks for `positions` positions in a read-only cache,
  /// and returns pointers to them. The caller fills them before the next step;
  /// copies of the sequence share them. See PagedKvCache::fillReadOnly().
  Result<char *const *> fillReadOnly(int32_t sequence, size_t group,
                                     int64_t positions);

  /// Appends tokens to sequences and returns logits [sum of num_logits,
  /// width()] in input order, valid until the next call. The tokens are split
  /// into runs with at most max_tokens tokens, which does not change results.
  ///
  /// Errors are detected before the first run: `Rejected` (no tokens, ids out
  /// of range, a sequence twice), `Usage` (a sequence that does not exist),
  /// `Limit` (over the context, the cache is full, more logits than
  /// maxLogits()). A cancelled step leaves all sequences unchanged.
  Result<const float *> step(const StepInput *inputs, size_t count);
  /// As step(), with a summary of the logits.
  Result<StepLogits> step(const StepInput *inputs, size_t count,
                          LogitSummary summary);
  /// As step(), with logits only for the listed tokens, [sum of num_logits,
  /// listed.count], bit for bit equal to step(). Other logits are not computed.
  /// 1 to maxListed() tokens; `Usage` for other counts, `Rejected` for ids out
  /// of range.
  Result<const float *> stepListed(const StepInput *inputs, size_t count,
                                   const ListedTokens &listed);
  /// As step(), with logits written to `logits`, which has room for them; their
  /// number is not limited. NULL if no token gets logits.
  Result<void> stepInto(const StepInput *inputs, size_t count, float *logits);

  /// Checks that a new sequence could get this many positions now; `Limit` if
  /// not.
  Result<void> checkRoom(int64_t positions);

  /// Writes a sequence to a file, and creates one from a file. A file from
  /// another model, or a damaged one, is `Rejected`.
  Result<void> save(int32_t sequence, const char *path) const;
  Result<int32_t> load(const char *path);

  /// Floats per result row (vocabulary, labels or hidden size).
  int64_t width() const { return entry.stepWidth; }
  /// Maximum number of tokens per sequence; nullopt: limited by the cache only.
  std::optional<int64_t> context() const;
  /// Ids are in [0, vocabulary()).
  int64_t vocabulary() const;
  /// Maximum number of tokens for stepListed(); 0: not supported by the model.
  int64_t maxListed() const;
  /// Maximum number of tokens with logits per step().
  int64_t maxLogits() const { return layout.maxLogits; }
  /// Sequences in the session, and unused ones.
  int64_t maxSequences() const { return cache.maxSequences(); }
  int64_t freeSequences() const { return cache.freeSequences(); }
  /// Positions in free blocks, and in all blocks.
  int64_t freePositions() const { return cache.freePositions(); }
  int64_t allPositions() const { return cache.allPositions(); }
  /// Source positions in free blocks.
  int64_t freeSourcePositions() const { return cache.freeSourcePositions(); }
  /// Maximum number of positions per sequence in this session.
  int64_t longest() const { return cache.longest(); }

private:
  Result<void> check(const StepInput *inputs, size_t count) const;
  Result<void> checkInput(const StepInput *inputs, size_t index) const;
  Result<void> checkLength(const StepInput &input) const;
  StepCutter cut(const StepInput *inputs, size_t count) const;
  Result<void> runStep(const StepInput *inputs, size_t count, StepLogits out);
  Result<void> runChunks(StepCutter cutter, StepLogits out);
  Result<void> checkReadOnly(const StepInput &input) const;
  void addChunk(const StepInput &input, const StepChunk &chunk);
  void addReadOnlyKeys(int32_t sequence, int64_t tokens);
  void placeBatches();
  Result<void> runBatch(StepLogits &out);
  Result<void> copyBlocks();
  void clearBatch();

  Executor &executor;
  const Entry &entry;
  const EntryLayout &regions;
  const DecodeLayout &layout;
  PagedKvCache cache;
  std::optional<SourceEncoder> sources; // for an encoder-decoder
  std::string digest;                   // model digest, for files
  std::vector<KvBlockCopy> copies;      // block copies before the next run
  // The next run's ragged batch.
  transom_ragged_batch ragged{};
  ListedTokens listed;     // empty: logits for all tokens
  int64_t numLogits = 0;   // tokens with logits
  int64_t longestKeys = 0; // max keys in one sequence
};

} // namespace transom
