// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoding: sequences in caches, and the step, which everything else is made
// of. A step appends new tokens to several sequences, each with its own past,
// and returns the logits that are asked for. Prefill, chunks of a prompt,
// decoding and mixed batches are steps.
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

/// What a step computes beside logits; see runtime/abi/RowSummary.h.
enum class LogitSummary { None, Maxima, MaximaAndSums };

/// Logits of a step. Maxima and sums are [rows, groups]; NULL where they were
/// not asked for, or the model does not make them.
struct StepLogits {
  float *logits = nullptr; ///< [rows, width]
  float *maxima = nullptr;
  float *sums = nullptr;
};

/// Ids of tokens. A product copies the columns of those that were not at their
/// place in the last call, so a caller keeps the place of those that stay.
struct ListedTokens {
  const int64_t *ids = nullptr;
  int64_t count = 0;
};

/// The sequences of a session and their steps. Used by one thread at a time.
/// None of step, create, copy, rewind and free allocates. On error nothing
/// changes.
class DecodeEngine {
public:
  /// Uses the executor's memory as `layout` says. The executor's model has a
  /// step; the executor and the layout outlive the engine.
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
  /// Number of tokens of a sequence; 0 if it does not exist.
  int64_t length(int32_t sequence) const;

  /// Whether the model is an encoder-decoder, whose sequences are created from
  /// sources.
  bool hasSources() const { return sources.has_value(); }
  /// Encodes sources and creates a sequence for each, in their order. Copies of
  /// a sequence share what is computed here. A source's row of the encoder and
  /// its keys and values do not depend on the other sources.
  ///
  /// Errors: `Rejected` (a source without a token, wrong ids or masks), `Limit`
  /// (longer than longestSource(), no free sequences, no room in the caches),
  /// `Usage` (not an encoder-decoder). On error no sequence is created.
  Result<void> addSources(const SourceInput *inputs, size_t count,
                          int32_t *sequences);
  /// Maximum number of columns of a source up to its last token.
  int64_t longestSource() const { return sources ? sources->longest() : 0; }

  /// Gives a sequence blocks for `positions` positions of a read-only cache,
  /// and the pointers to them. The caller fills them before the next step;
  /// copies of the sequence share them. See PagedKvCache::fillReadOnly().
  Result<char *const *> fillReadOnly(int32_t sequence, size_t group,
                                     int64_t positions);

  /// Appends tokens to sequences and returns logits [sum of num_logits,
  /// width()] in the order of the inputs, valid until the next call. The tokens
  /// are split into runs of max_tokens tokens, which does not change results.
  ///
  /// Errors come before the first run: `Rejected` (no tokens, ids out of range,
  /// a sequence twice), `Usage` (a sequence that does not exist), `Limit` (over
  /// the context, the cache is full, more logits than maxLogits()). A cancelled
  /// step leaves all sequences as they were.
  Result<const float *> step(const StepInput *inputs, size_t count);
  /// As step(), with a summary of the logits.
  Result<StepLogits> step(const StepInput *inputs, size_t count,
                          LogitSummary summary);
  /// As step(), with the logits of listed tokens, [sum of num_logits,
  /// listed.count] and bit for bit those of step(). The others are not
  /// computed. There are 1 to maxListed() tokens; `Usage` for another number,
  /// `Rejected` for ids out of range.
  Result<const float *> stepListed(const StepInput *inputs, size_t count,
                                   const ListedTokens &listed);
  /// As step(), with logits at `logits`, which has room for them; their number
  /// is not limited. NULL if no token gives logits.
  Result<void> stepInto(const StepInput *inputs, size_t count, float *logits);

  /// Whether a new sequence could get this many positions now; `Limit` if not.
  Result<void> checkRoom(int64_t positions);

  /// Writes a sequence to a file, and creates one from a file. A file of
  /// another model, or a damaged one, is `Rejected`.
  Result<void> save(int32_t sequence, const char *path) const;
  Result<int32_t> load(const char *path);

  /// Floats of the result for one token (vocabulary, labels or hidden size).
  int64_t width() const { return entry.stepWidth; }
  /// Maximum number of tokens of a sequence; nothing: limited by the cache
  /// only.
  std::optional<int64_t> context() const;
  /// Ids are in [0, vocabulary()).
  int64_t vocabulary() const;
  /// Maximum number of tokens of stepListed(); 0: the model lists none.
  int64_t maxListed() const;
  /// Maximum number of tokens with logits of one step().
  int64_t maxLogits() const { return layout.maxLogits; }
  /// Sequences of the session, and those that are not in use.
  int64_t maxSequences() const { return cache.maxSequences(); }
  int64_t freeSequences() const { return cache.freeSequences(); }
  /// Positions in free blocks, and in all blocks.
  int64_t freePositions() const { return cache.freePositions(); }
  int64_t allPositions() const { return cache.allPositions(); }
  /// Positions of sources in free blocks.
  int64_t freeSourcePositions() const { return cache.freeSourcePositions(); }
  /// Maximum number of positions of a sequence of this session.
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
  std::optional<SourceEncoder> sources; // of an encoder-decoder
  std::string digest;                   // of the model, for files
  std::vector<KvBlockCopy> copies;      // of blocks, before the next run
  // The ragged batch of the next run.
  transom_ragged_batch ragged{};
  ListedTokens listed;     // without any, logits are those of all tokens
  int64_t numLogits = 0;   // its tokens with logits
  int64_t longestKeys = 0; // the most keys of one of its sequences
};

} // namespace transom
