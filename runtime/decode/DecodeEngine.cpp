// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step: check, reserve blocks, then walk after walk its rows, tables and
// logits. Lengths change at the end, so that a step that was cancelled between
// walks leaves the sequences as they were.
#include "runtime/decode/DecodeEngine.h"
#include "runtime/execute/Session.h"
#include "runtime/kvcache/KvFile.h"

using namespace transom;

/// The entry that is a model's step.
static const Entry &stepOf(const Model &model) {
  return *model.findEntry("step");
}

/// The cache's memory in a session.
static KvStorage storageIn(char *rest, char *base, const KvLayout &layout) {
  auto at = [&](const Region &region) { return rest + region.offset; };
  return {reinterpret_cast<int64_t *>(at(layout.lengths)),
          reinterpret_cast<int64_t *>(at(layout.first)),
          reinterpret_cast<char **>(at(layout.tables)),
          reinterpret_cast<uint32_t *>(at(layout.users)),
          reinterpret_cast<uint32_t *>(at(layout.free)),
          reinterpret_cast<transom_cache *>(at(layout.caches)),
          base + layout.blocks.offset};
}

Decoder::Decoder(Session &session)
    : session(session), entry(stepOf(session.model())),
      places(session.placesOf(entry)),
      pool(session.layout.kv->plan,
           storageIn(session.restAt(Region()), session.mapping.base(),
                     *session.layout.kv)),
      digest(cacheDigest(session.model().manifest())) {
  const SegmentsLayout &table = places.tables[0];
  segments.sequences = session.at<transom_sequence>(table.sequences);
  segments.row_sequence = session.at<int32_t>(table.rowSequence);
  segments.row_column = session.at<int32_t>(table.rowColumn);
  segments.row_key = session.at<int64_t>(table.rowKey);
}

std::optional<int64_t> Decoder::context() const {
  return session.model().manifest().decoder->context;
}

int64_t Decoder::vocabulary() const {
  return session.model().manifest().decoder->vocabulary;
}

int64_t Decoder::maxWanted() const { return session.layout.kv->maxWanted; }

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

static Error notOpen(int32_t sequence) {
  return usageError("sequence " + std::to_string(sequence) + " is not open");
}

Result<int32_t> Decoder::open() { return pool.open(); }

void Decoder::close(int32_t sequence) { pool.close(sequence); }

Result<int32_t> Decoder::fork(int32_t sequence) {
  if (!pool.isOpen(sequence))
    return notOpen(sequence);
  return pool.fork(sequence);
}

Result<void> Decoder::rewind(int32_t sequence, int64_t length) {
  if (!pool.isOpen(sequence))
    return notOpen(sequence);
  if (length < 0 || length > pool.length(sequence))
    return usageError("cannot rewind sequence " + std::to_string(sequence) +
                      " of " + std::to_string(pool.length(sequence)) +
                      " positions to " + std::to_string(length));
  return pool.rewind(sequence, length);
}

int64_t Decoder::length(int32_t sequence) const {
  return pool.length(sequence);
}

Result<void> Decoder::save(int32_t sequence, const char *path) const {
  if (!pool.isOpen(sequence))
    return notOpen(sequence);
  return saveSequence(pool, sequence, digest, path);
}

Result<int32_t> Decoder::load(const char *path) {
  return loadSequence(pool, digest, path);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static std::string nameOf(const StepInput &rows) {
  return "sequence " + std::to_string(rows.sequence);
}

/// Checks rows `index` of a step against the sequence and those before.
Result<void> Decoder::checkRows(const StepInput *rows, size_t index) const {
  const StepInput &what = rows[index];
  if (!pool.isOpen(what.sequence))
    return notOpen(what.sequence);
  for (size_t i = 0; i != index; ++i)
    if (rows[i].sequence == what.sequence)
      return rejected(nameOf(what) + " stands twice in a step");
  if (what.num_tokens < 1 || what.num_logits < 0 ||
      what.num_logits > what.num_tokens || !what.tokens)
    return rejected("a step has " + std::to_string(what.num_tokens) +
                    " new tokens for " + nameOf(what) +
                    " and wants logits of " + std::to_string(what.num_logits) +
                    "; it takes 1 or more tokens and gives 0 up to all");
  if (Result<void> done = checkLength(what); !done)
    return done;
  for (int64_t i = 0; i != what.num_tokens; ++i)
    if (what.tokens[i] < 0 || what.tokens[i] >= vocabulary())
      return rejected("token " + std::to_string(i) + " for " + nameOf(what) +
                      " is " + std::to_string(what.tokens[i]) +
                      "; ids of this model are 0 to " +
                      std::to_string(vocabulary() - 1));
  return {};
}

/// Checks how long a sequence would be, before its tokens are looked at: a
/// wrong count is no reason to read so far.
Result<void> Decoder::checkLength(const StepInput &what) const {
  int64_t past = pool.length(what.sequence);
  if (what.num_tokens <= longest() - past)
    return {};
  std::string text = nameOf(what) + " has " + std::to_string(past) +
                     " positions and would get " +
                     std::to_string(what.num_tokens) + " more, over the ";
  if (context() && what.num_tokens > *context() - past)
    return limitError(text + "model's context of " +
                      std::to_string(*context()));
  return limitError(text + std::to_string(longest()) +
                    " that the cache holds of one sequence; a session with a "
                    "larger max_kv_tokens holds more");
}

Result<void> Decoder::check(const StepInput *rows, size_t count) const {
  if (count == 0)
    return rejected("a step without a sequence");
  for (size_t i = 0; i != count; ++i)
    if (Result<void> done = checkRows(rows, i); !done)
      return done;
  return {};
}

StepCutter Decoder::cut(const StepInput *rows, size_t count) const {
  int64_t maxRows = session.config().maxTokens;
  return StepCutter(rows, count, maxRows, std::min(maxRows, maxWanted()));
}

Result<void> Decoder::checkRoom(int64_t positions) {
  TRANSOM_ASSIGN(int32_t sequence, open());
  StepInput rows{sequence, nullptr, positions, 0};
  Result<void> done = checkLength(rows);
  if (done)
    done = pool.reserve(cut(&rows, 1));
  close(sequence);
  return done;
}

Result<const float *> Decoder::step(const StepInput *rows, size_t count) {
  int64_t wanted = 0;
  for (size_t i = 0; i != count; ++i)
    if (__builtin_add_overflow(wanted, rows[i].num_logits, &wanted))
      wanted = INT64_MAX;
  if (wanted > maxWanted())
    return limitError("a step wants logits of " + std::to_string(wanted) +
                      " rows, the session holds those of " +
                      std::to_string(maxWanted()));
  float *logits = session.at<float>(session.layout.kv->logits);
  TRANSOM_TRY(stepInto(rows, count, logits));
  return static_cast<const float *>(logits);
}

Result<void> Decoder::stepInto(const StepInput *rows, size_t count,
                               float *logits) {
  if (Result<void> done = session.takeCancel(); !done)
    return done;
  if (Result<void> done = check(rows, count); !done)
    return done;
  StepCutter cutter = cut(rows, count);
  if (Result<void> done = pool.reserve(cutter); !done)
    return done;
  Result<void> done = walkAll(cutter, logits);
  for (size_t i = 0; i != count && !done; ++i)
    pool.rollBack(rows[i].sequence);
  return done;
}

Result<void> Decoder::walkAll(StepCutter cutter, float *logits) {
  segments.batch = segments.rows = wantedRows = longestKeys = 0;
  StepCutter again = cutter;
  StepPiece piece;
  while (cutter.next(piece)) {
    if (piece.begins && segments.rows)
      if (Result<void> done = walk(logits); !done)
        return done;
    const StepInput &rows = cutter[piece.index];
    pool.extend(rows.sequence, pool.length(rows.sequence) + piece.offset,
                piece.count);
    addPiece(rows, piece);
  }
  if (Result<void> done = walk(logits); !done)
    return done;
  while (again.next(piece)) // the last piece of each sequence ends it
    if (const StepInput &rows = again[piece.index];
        piece.offset + piece.count == rows.num_tokens) {
      int64_t past = pool.length(rows.sequence);
      pool.commit(rows.sequence, past + rows.num_tokens, past + piece.offset);
    }
  return {};
}

/// Adds rows of one sequence to the walk in the making.
void Decoder::addPiece(const StepInput &rows, const StepPiece &piece) {
  const SegmentsLayout &table = places.tables[0];
  auto *tokens = session.at<int64_t>(places.inputs[0]);
  auto *wanted = session.at<int64_t>(places.inputs[1]);
  auto *sequence = session.at<int32_t>(table.rowSequence);
  auto *position = session.at<int32_t>(table.rowColumn);
  auto *key = session.at<int64_t>(table.rowKey);
  int64_t past = pool.length(rows.sequence) + piece.offset;
  session.at<transom_sequence>(table.sequences)[segments.batch] = {
      segments.rows,
      piece.count,
      past + piece.count,
      0,
      -1,
      past,
      pool.firstBlock(rows.sequence)};
  for (int64_t i = 0; i != piece.count; ++i) {
    int64_t row = segments.rows + i;
    tokens[row] = rows.tokens[piece.offset + i];
    sequence[row] = int32_t(segments.batch);
    position[row] = int32_t(past + i);
    key[row] = past + i;
  }
  segments.rows += piece.count;
  for (int64_t i = piece.wanted; i != 0; --i)
    wanted[wantedRows++] = segments.rows - i;
  longestKeys = std::max(longestKeys, past + piece.count);
  ++segments.batch;
}

/// Walks the rows that were added, and moves `logits` behind what they give.
Result<void> Decoder::walk(float *&logits) {
  // No phase has to bear a result without rows.
  float *out = logits;
  int64_t given = std::max<int64_t>(wantedRows, 1);
  if (wantedRows == 0) {
    session.at<int64_t>(places.inputs[1])[0] = segments.rows - 1;
    out = session.at<float>(session.layout.kv->logits) + maxWanted() * width();
  }
  segments.key_positions = alignToPanel(longestKeys);
  auto *symbols = session.at<int64_t>(places.symbols);
  symbols[entry.segments[0].rowsSymbol] = segments.rows;
  symbols[entry.segments[0].keysSymbol] = segments.key_positions;
  symbols[entry.inputs[1].dims[0].onlySymbol()] = given;
  if (entry.partsSymbol >= 0)
    symbols[entry.partsSymbol] = session.config().threads;
  void **args = session.at<void *>(places.args);
  args[0] = session.at<int64_t>(places.inputs[0]);
  args[1] = session.at<int64_t>(places.inputs[1]);
  args[2] = out;
  *session.at<transom_segments>(places.segments) = segments;
  transom_frame frame{};
  if (Result<void> done = session.placeBuffers(entry, places, symbols, frame);
      !done)
    return done;
  frame.caches = pool.caches();
  if (Result<void> done = session.walk(entry, frame); !done)
    return done;
  if (wantedRows)
    logits += wantedRows * width();
  segments.batch = segments.rows = wantedRows = longestKeys = 0;
  return {};
}
