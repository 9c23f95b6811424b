// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoder half of a session: sequences in a cache, and the one function
// that everything else is made of, a step. New tokens of several sequences,
// each with its own past, go in; logits of the rows that are asked for come
// out. Prefill, its chunks, decode and mixed batches are this function.
#pragma once
#include "runtime/abi/Abi.h"
#include "runtime/base/Error.h"
#include "runtime/execute/SessionLayout.h"
#include "runtime/kvcache/KvPool.h"
#include <cstdint>
#include <optional>
#include <string>

namespace transom {

class Session;

/// Sequences of a session and their steps. Used by one thread at a time; none
/// of step, open, fork, rewind, close allocates. What is refused changes
/// nothing.
class Decoder {
public:
  /// Over the session's memory; the session has a model with `step`.
  explicit Decoder(Session &session);

  /// A new empty sequence; `Limit` when all are taken.
  Result<int32_t> open();
  /// Gives a sequence and its part of the cache back. A handle that is not open
  /// is ignored.
  void close(int32_t sequence);
  /// A new sequence with the same past. Shares its blocks; the last one is
  /// copied when one of both goes on.
  Result<int32_t> fork(int32_t sequence);
  /// Drops what stands at `length` and behind it. `Limit` where a window has
  /// let go of positions that would be seen again; 0 is always right, and while
  /// the cache is not full so is where the sequence's last walk began.
  Result<void> rewind(int32_t sequence, int64_t length);
  /// True for a handle that is in use.
  bool isOpen(int32_t sequence) const { return pool.isOpen(sequence); }
  /// Positions of a sequence; 0 where the handle is not open.
  int64_t length(int32_t sequence) const;

  /// Appends rows to sequences and gives logits [sum of wanted][width()] in the
  /// order of the rows, valid until the next call. Any number of rows: they are
  /// cut into walks of max_tokens rows, which does not show. Errors come before
  /// the first walk: `Rejected` (no rows, ids out of range, a handle twice),
  /// `Usage` (a handle that is not open), `Limit` (over the context, the cache
  /// full, more wanted than maxWanted()). When it is cancelled all lengths are
  /// as they were.
  Result<const float *> step(const StepInput *rows, size_t count);
  /// As step(), with logits at `logits`, which has room for them; no bound on
  /// their number. NULL where none are wanted.
  Result<void> stepInto(const StepInput *rows, size_t count, float *logits);

  /// Whether a new sequence could get so many positions now; `Limit` if not.
  Result<void> checkRoom(int64_t positions);

  /// Writes a sequence to a file / makes a new one from it. A file of another
  /// model, or one that is not whole, is `Rejected`.
  Result<void> save(int32_t sequence, const char *path) const;
  Result<int32_t> load(const char *path);

  /// Numbers of a row of logits (the vocabulary, the labels, the hidden size).
  int64_t width() const { return entry.stepWidth; }
  /// Most positions of a sequence; nothing: bounded by the cache alone.
  std::optional<int64_t> context() const;
  /// Ids lie in [0, vocabulary()).
  int64_t vocabulary() const;
  /// Most rows that one step gives logits of.
  int64_t maxWanted() const;
  /// Sequences that a session holds.
  int64_t maxSequences() const { return pool.maxSequences(); }
  /// Sequences that are not open.
  int64_t freeSequences() const { return pool.freeSequences(); }
  /// Positions in blocks that no sequence uses, and in all blocks.
  int64_t freePositions() const { return pool.freePositions(); }
  int64_t allPositions() const { return pool.allPositions(); }
  /// Most positions that a sequence of this session can have.
  int64_t longest() const { return pool.longest(); }

private:
  Result<void> check(const StepInput *rows, size_t count) const;
  Result<void> checkRows(const StepInput *rows, size_t index) const;
  Result<void> checkLength(const StepInput &what) const;
  StepCutter cut(const StepInput *rows, size_t count) const;
  Result<void> walkAll(StepCutter cutter, float *logits);
  void addPiece(const StepInput &rows, const StepPiece &piece);
  Result<void> walk(float *&logits);

  Session &session;
  const Entry &entry;
  const EntryLayout &places;
  KvPool pool;
  std::string digest;          // of the model, for files
  transom_segments segments{}; // the table of the walk in the making
  int64_t wantedRows = 0;      // of that walk
  int64_t longestKeys = 0;     // likewise
};

} // namespace transom
