// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows in the batch run in groups: as many whole sequences as fit into a
// step, its logits and the cache, or one longer sequence in chunks. In an
// encoder-decoder, the group's sequences are created from their sources.
#include "runtime/session/DerivedEntries.h"
#include "runtime/base/Finally.h"
#include "runtime/execute/Tensor.h"
#include "runtime/generate/LogitsSource.h"
#include "runtime/generate/Softmax.h"
#include "runtime/session/Session.h"
#include "runtime/session/TensorViews.h"
#include <algorithm>

using namespace transom;

namespace {

/// The result that a derived entry computes from the logits.
enum class Kind {
  PerToken,  ///< the logits for each token
  LastToken, ///< the logits for the last token
  Score,     ///< the next token's log-probability
};

Kind getKind(const Entry &entry) {
  if (entry.kind() == EntryKind::Score)
    return Kind::Score;
  return entry.outputs[0].dims.size() == 3 ? Kind::PerToken : Kind::LastToken;
}

/// One call to a derived entry.
class DerivedCall {
public:
  DerivedCall(Session &session, const Entry &entry, const Call &call,
              FloatsOut out)
      : decoder(*session.decoder()), rules(*session.model().manifest().decoder),
        settings(session.generation()), storage(session.derivedEntryStorage()),
        kind(getKind(entry)), startsWithLast(rules.startRule == "last_label"),
        tokens(getTokens(entry, call, decoder)),
        sources(TokenRows::fromMask(entry, call, 0)),
        batch(call.inputShape(0).dims[0]), out(out) {
    maxStepTokens = maxSourceColumns = session.config().maxTokens;
    if (kind != Kind::LastToken)
      maxStepTokens = std::min(maxStepTokens, decoder.maxLogits());
  }

  /// Checks ids, mask, lengths and the room in the caches; run() then fails
  /// only after cancellation or a logit that is not finite.
  Result<void> check() const;
  Result<void> run();

private:
  /// Returns the decoder's tokens.
  static TokenRows getTokens(const Entry &entry, const Call &call,
                             const DecodeEngine &decoder) {
    if (!decoder.hasSources() || getKind(entry) == Kind::LastToken)
      return TokenRows::fromMask(entry, call, 0);
    if (entry.kind() == EntryKind::Score)
      return TokenRows::fromLabels(entry, call, 2, decoder.vocabulary());
    return TokenRows::fromMask(entry, call, 2);
  }
  /// True if each token is predicted from the preceding one, and the first one
  /// from the start token.
  bool isShifted() const {
    return decoder.hasSources() && kind != Kind::PerToken;
  }
  Result<void> checkRow(int64_t row) const;
  Result<void> checkSource(int64_t row) const;
  int64_t countFed(int64_t row) const;
  int64_t countToEnd(int64_t row) const;
  int64_t countToOther(int64_t row) const;
  int64_t countSourceColumns(int64_t row) const {
    return sources.getPrevious(row, sources.columns) + 1;
  }
  bool isFull(int64_t row, int64_t fed) const;
  Result<void> add(int64_t row, int64_t fed);
  void addSource(int64_t row);
  Result<void> open(size_t count);
  Result<void> runGroup();
  Result<void> runLong(int64_t row, int64_t fed);
  Result<void> runChunks(int64_t row, int64_t fed, int32_t sequence);
  int64_t getFed(int64_t row, int64_t column) const;
  void gather(int64_t row, int64_t &column, int64_t count, int64_t *to) const;
  Result<void> give(int64_t row, int64_t column, int64_t index, int64_t count,
                    const float *logits);
  Result<void> giveScore(int64_t row, int64_t column, int64_t index,
                         const float *logits);
  void clear(int64_t row);
  void clearGroup() {
    grouped = 0;
    groupedTokens = groupedBlocks = sourceColumns = sourceBlocks = 0;
  }

  DecodeEngine &decoder;
  const ManifestDecoder &rules;
  const GenerationConfig &settings; // for an encoder-decoder
  const DerivedEntryStorage storage;
  const Kind kind;
  const bool startsWithLast; // the token before the first is the last one
  const TokenRows tokens;    // for the decoder
  const TokenRows sources;   // for the encoder
  const int64_t batch;
  FloatsOut out;
  int64_t maxStepTokens;    // per step
  int64_t maxSourceColumns; // in a group's sources
  size_t grouped = 0;       // sequences in the group
  int64_t groupedTokens = 0, groupedBlocks = 0;
  int64_t sourceColumns = 0, sourceBlocks = 0; // in the group
};

/// Returns how many tokens of a row are fed: without an encoder, a score does
/// not need the last token, which predicts no next one, and a classification
/// needs only the tokens up to the one that the head reads.
int64_t DerivedCall::countFed(int64_t row) const {
  const int64_t count = tokens.count(row);
  if (kind == Kind::LastToken)
    return decoder.hasSources() ? countToEnd(row) : countToOther(row);
  return kind == Kind::Score && !isShifted() ? std::max<int64_t>(count - 1, 0)
                                             : count;
}

/// Returns the token count up to the last end token, 0 without one.
int64_t DerivedCall::countToEnd(int64_t row) const {
  int64_t count = tokens.count(row), column = tokens.columns;
  for (; count > 0; --count) {
    column = tokens.getPrevious(row, column);
    const int64_t id = tokens(row, column);
    if (rules.classToken ? id == *rules.classToken : settings.isEnd(id))
      break;
  }
  return count;
}

/// Returns the token count up to the last token that is not the padding id, 1
/// if all are.
int64_t DerivedCall::countToOther(int64_t row) const {
  int64_t count = tokens.count(row), column = tokens.columns;
  for (; rules.classToken && count > 1; --count) {
    column = tokens.getPrevious(row, column);
    if (tokens(row, column) != *rules.classToken)
      break;
  }
  return count;
}

Result<void> DerivedCall::checkRow(int64_t row) const {
  TRANSOM_ASSIGN(const int64_t count, tokens.check(row));
  if (count > decoder.context().value_or(INT64_MAX))
    return limitError("row " + std::to_string(row) + " has " +
                      std::to_string(count) +
                      " tokens, over the model's context of " +
                      std::to_string(*decoder.context()));
  if (countFed(row) > decoder.longest())
    return limitError("row " + std::to_string(row) + " has " +
                      std::to_string(count) + " tokens, the cache holds " +
                      std::to_string(decoder.longest()) +
                      " of one sequence; a session with a larger "
                      "max_kv_tokens holds more");
  if (!decoder.hasSources())
    return {};
  TRANSOM_TRY(checkSource(row));
  if (kind == Kind::LastToken && countToEnd(row) == 0)
    return rejected("row " + std::to_string(row) +
                    " of 'input_ids' has no end token, by which the model "
                    "classifies");
  return {};
}

Result<void> DerivedCall::checkSource(int64_t row) const {
  TRANSOM_ASSIGN(const int64_t count, sources.check(row, true));
  auto getName = [&] {
    return "row " + std::to_string(row) + " of 'input_ids'";
  };
  if (count == 0)
    return rejected(getName() + " has no tokens; a source has 1 or more");
  if (const int64_t columns = countSourceColumns(row);
      columns > decoder.longestSource())
    return limitError(getName() + " has " + std::to_string(columns) +
                      " columns up to its last token, over the maximum " +
                      std::to_string(decoder.longestSource()) +
                      " of the model and of the session's max_tokens");
  if (alignToKvBlock(count) > decoder.freeSourcePositions())
    return limitError(getName() + " has " + std::to_string(count) +
                      " tokens, the caches have room for " +
                      std::to_string(decoder.freeSourcePositions()) +
                      " of sources; a session with a larger "
                      "max_source_tokens holds more");
  return {};
}

Result<void> DerivedCall::check() const {
  if (isShifted() && !startsWithLast && !settings.decoderStart)
    return rejected("the model's files have no 'decoder_start_token_id', from "
                    "which the first token is predicted");
  int64_t longest = 0;
  for (int64_t row = 0; row != batch; ++row) {
    TRANSOM_TRY(checkRow(row));
    longest = std::max(longest, countFed(row));
  }
  return longest ? decoder.checkRoom(longest) : Result<void>();
}

Result<void> DerivedCall::run() {
  for (int64_t row = 0; row != batch; ++row) {
    clear(row);
    const int64_t fed = countFed(row);
    if (fed > maxStepTokens) {
      TRANSOM_TRY(runGroup());
      TRANSOM_TRY(runLong(row, fed));
    } else if (fed > 0) {
      TRANSOM_TRY(add(row, fed));
    }
  }
  return runGroup();
}

/// True if the group has no room for another row.
bool DerivedCall::isFull(int64_t row, int64_t fed) const {
  const int64_t blocks = groupedBlocks + getNumKvBlocks(fed);
  if (groupedTokens + fed > maxStepTokens ||
      int64_t(grouped) == decoder.freeSequences() ||
      blocks * kvBlockSize > decoder.freePositions())
    return true;
  return decoder.hasSources() &&
         (sourceColumns + countSourceColumns(row) > maxSourceColumns ||
          (sourceBlocks + getNumKvBlocks(sources.count(row))) * kvBlockSize >
              decoder.freeSourcePositions());
}

/// Adds a whole sequence to the group; runs the group first if it is full.
Result<void> DerivedCall::add(int64_t row, int64_t fed) {
  if (grouped && isFull(row, fed))
    TRANSOM_TRY(runGroup());
  int64_t column = 0, *to = storage.tokens + groupedTokens;
  gather(row, column, fed, to);
  addSource(row);
  storage.inputs[grouped] = {-1, to, fed, kind == Kind::LastToken ? 1 : fed};
  storage.batchRows[grouped++] = row;
  groupedTokens += fed;
  groupedBlocks += getNumKvBlocks(fed);
  return {};
}

/// Adds a row's source to the group's sources.
void DerivedCall::addSource(int64_t row) {
  if (!decoder.hasSources())
    return;
  const int64_t columns = countSourceColumns(row);
  int64_t *ids = storage.sourceIds + sourceColumns;
  int64_t *mask = storage.sourceMask + sourceColumns;
  for (int64_t i = 0; i != columns; ++i) {
    ids[i] = sources(row, i);
    mask[i] = sources.isToken(row, i);
  }
  storage.sources[grouped] = {ids, mask, columns};
  sourceColumns += columns;
  sourceBlocks += getNumKvBlocks(sources.count(row));
}

/// Creates the group's sequences.
Result<void> DerivedCall::open(size_t count) {
  if (decoder.hasSources())
    return decoder.addSources(storage.sources, count, storage.sequences);
  size_t made = 0;
  const Finally undo([&] {
    for (size_t i = 0; i != made && made != count; ++i)
      decoder.free(storage.sequences[i]);
  });
  for (; made != count; ++made) {
    TRANSOM_ASSIGN(storage.sequences[made], decoder.create());
  }
  return {};
}

/// Runs the group's sequences and frees them.
Result<void> DerivedCall::runGroup() {
  if (grouped == 0)
    return {};
  const size_t count = grouped;
  clearGroup();
  TRANSOM_TRY(open(count));
  const Finally release([&] {
    for (size_t i = 0; i != count; ++i)
      decoder.free(storage.sequences[i]);
  });
  for (size_t i = 0; i != count; ++i)
    storage.inputs[i].sequence = storage.sequences[i];
  TRANSOM_ASSIGN(const float *logits, decoder.step(storage.inputs, count));
  for (size_t i = 0; i != count; ++i) {
    const StepInput &input = storage.inputs[i];
    TRANSOM_TRY(give(storage.batchRows[i], 0, 0, input.num_tokens, logits));
    logits += input.num_logits * decoder.width();
  }
  return {};
}

/// Runs one sequence in chunks.
Result<void> DerivedCall::runLong(int64_t row, int64_t fed) {
  addSource(row);
  clearGroup();
  TRANSOM_TRY(open(1));
  const int32_t sequence = storage.sequences[0];
  const Finally release([&] { decoder.free(sequence); });
  return runChunks(row, fed, sequence);
}

Result<void> DerivedCall::runChunks(int64_t row, int64_t fed,
                                    int32_t sequence) {
  int64_t column = 0;
  for (int64_t begin = 0; begin != fed;) {
    const int64_t count = std::min(maxStepTokens, fed - begin), first = column;
    gather(row, column, count, storage.tokens);
    const bool last = begin + count == fed;
    StepInput chunk{sequence, storage.tokens, count,
                    kind != Kind::LastToken ? count : int64_t(last)};
    TRANSOM_ASSIGN(const float *logits, decoder.step(&chunk, 1));
    if (chunk.num_logits)
      TRANSOM_TRY(give(row, first, begin, count, logits));
    begin += count;
  }
  return {};
}

/// Returns the token that the step processes for the one at `column`.
int64_t DerivedCall::getFed(int64_t row, int64_t column) const {
  if (!isShifted())
    return tokens(row, column);
  const int64_t previous = tokens.getPrevious(row, column);
  if (previous >= 0)
    return tokens(row, previous);
  return startsWithLast ? tokens(row, tokens.getPrevious(row, tokens.columns))
                        : *settings.decoderStart;
}

/// Gathers the step's input for the next tokens in a row; moves `column` past
/// them.
void DerivedCall::gather(int64_t row, int64_t &column, int64_t count,
                         int64_t *to) const {
  for (int64_t i = 0; i != count; ++i) {
    column = tokens.getNext(row, column);
    to[i] = getFed(row, column++);
  }
}

/// Writes results from logits: one for each of `count` tokens from `column` on,
/// where the first is token `index`, or one for the last token.
Result<void> DerivedCall::give(int64_t row, int64_t column, int64_t index,
                               int64_t count, const float *logits) {
  if (kind == Kind::LastToken) {
    out.setRow(out.at(row, 0), logits);
    return {};
  }
  for (int64_t i = 0; i != count; ++i, logits += decoder.width()) {
    column = tokens.getNext(row, column);
    if (kind == Kind::PerToken)
      out.setRow(out.at(row, column), logits);
    else
      TRANSOM_TRY(giveScore(row, column, index + i, logits));
    ++column;
  }
  return {};
}

/// Writes the log-probability of the token at `column`, or of the next one,
/// whose result is stored in the column before it.
Result<void> DerivedCall::giveScore(int64_t row, int64_t column, int64_t index,
                                    const float *logits) {
  if (firstNonFinite(logits, decoder.width()) >= 0)
    return nonFiniteLogit(index, "row " + std::to_string(row));
  const int64_t scored = isShifted() ? column : tokens.getNext(row, column + 1);
  const double target = logits[tokens(row, scored)];
  out.set(out.at(row, isShifted() ? scored : scored - 1),
          float(target - logSumExp(logits, decoder.width())));
  return {};
}

/// Writes zeros for padding.
void DerivedCall::clear(int64_t row) {
  if (kind != Kind::PerToken)
    return out.clearRow(out.at(row, 0));
  for (int64_t column = 0; column != tokens.columns; ++column)
    if (!tokens.isToken(row, column))
      out.clearRow(out.at(row, column));
}

} // namespace

void DerivedEntryLayout::addTo(ExecutorExtension &extension, int64_t maxTokens,
                               int64_t maxSequences, bool hasSources) {
  const CheckedSize sequences = CheckedSize::fromSigned(maxSequences);
  const CheckedSize columns =
      CheckedSize::fromSigned(hasSources ? maxTokens : 0);
  for (CheckedSize bytes :
       {CheckedSize::fromSigned(maxTokens) * 8, sequences * sizeof(StepInput),
        sequences * 8, sequences * 4, columns * 8, columns * 8,
        (hasSources ? sequences : 0) * sizeof(SourceInput)})
    extension.regions.push_back(bytes);
}

void DerivedEntryLayout::place(const ExecutorLayout &executor, size_t first) {
  tokens = executor.extension[first];
  inputs = executor.extension[first + 1];
  batchRows = executor.extension[first + 2];
  sequences = executor.extension[first + 3];
  sourceIds = executor.extension[first + 4];
  sourceMask = executor.extension[first + 5];
  sources = executor.extension[first + 6];
}

DerivedEntryStorage
DerivedEntryLayout::getStorage(const Executor &executor) const {
  return {executor.at<int64_t>(tokens),     executor.at<StepInput>(inputs),
          executor.at<int64_t>(batchRows),  executor.at<int32_t>(sequences),
          executor.at<int64_t>(sourceIds),  executor.at<int64_t>(sourceMask),
          executor.at<SourceInput>(sources)};
}

/// Returns the memory for the result: the caller's, or the executor's if the
/// caller omits it.
static Result<void *> findResult(const Session &session, const Entry &entry,
                                 const Call &call) {
  if (const transom_tensor *given = call.output(0))
    return given->data;
  const ShapeValue &shape = call.outputShape(0);
  void *data = session.executor().heldResult(
      entry, 0, uint64_t(Call::getElementCount(shape)) * sizeof(float));
  if (data)
    return data;
  if (!session.config().holdResults)
    return rejected("result '" + entry.outputs[0].name +
                    "' is left out, and the session does not hold it");
  return limitError("result '" + entry.outputs[0].name + "' of shape " +
                    shapeText(shape.dims, shape.rank) +
                    " does not fit what the session holds for max_batch " +
                    std::to_string(session.config().maxBatch) +
                    " and max_tokens " +
                    std::to_string(session.config().maxTokens));
}

Result<void> transom::runDerivedEntry(Session &session, const Entry &entry,
                                      const transom_tensor *inputs,
                                      size_t inputCount,
                                      transom_tensor *outputs,
                                      size_t outputCount) {
  // Bind and check the arguments.
  Call call(entry, session.executor().getStorage(entry));
  if (Result<void> done = call.bindInputs(inputs, inputCount, true); !done)
    return done;
  if (getKind(entry) == Kind::Score && !session.decoder()->hasSources() &&
      call.inputShape(0).dims[1] < 2)
    return rejected("entry 'score' needs two tokens or more, got 1");
  if (Result<void> done = call.bindOutputs(outputs, outputCount, true); !done)
    return done;
  // Run the entry on the result's memory.
  const ShapeValue &shape = call.outputShape(0);
  const transom_tensor *given = call.output(0);
  TRANSOM_ASSIGN(void *data, findResult(session, entry, call));
  DerivedCall derived(session, entry, call,
                      FloatsOut(data, shape, given ? given->strides : nullptr));
  if (Result<void> done = derived.check(); !done)
    return done;
  if (Result<void> done = derived.run(); !done)
    return done;
  // Describe the result.
  for (size_t i = 0; i != outputCount; ++i) {
    outputs[i].dtype = entry.outputs[0].dtype;
    outputs[i].rank = int32_t(shape.rank);
    std::copy_n(shape.dims, shape.rank, outputs[i].shape);
  }
  return {};
}
