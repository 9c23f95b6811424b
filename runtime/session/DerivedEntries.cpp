// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of the batch run in groups: as many whole sequences as a step, its
// logits and the cache hold, or one longer sequence in chunks.
#include "runtime/session/DerivedEntries.h"
#include "runtime/execute/Tensor.h"
#include "runtime/generate/LogitsSource.h"
#include "runtime/generate/Softmax.h"
#include "runtime/session/Session.h"
#include <algorithm>
#include <cstring>

using namespace transom;

namespace {

/// Integers [batch, columns] of the caller, as they lie; absent ones are 1.
class IntegerView {
public:
  IntegerView(const transom_tensor *tensor, int64_t columns) : tensor(tensor) {
    if (!tensor)
      return;
    bool dense = tensor->strides[0] == 0 && tensor->strides[1] == 0;
    rowStride = dense ? columns : tensor->strides[0];
    columnStride = dense ? 1 : tensor->strides[1];
  }
  int64_t operator()(int64_t row, int64_t column) const {
    if (!tensor)
      return 1;
    int64_t at = row * rowStride + column * columnStride;
    auto data = static_cast<const char *>(tensor->data);
    if (tensor->dtype == TRANSOM_DTYPE_I64) {
      int64_t value;
      std::memcpy(&value, data + at * 8, sizeof value);
      return value;
    }
    int32_t value;
    std::memcpy(&value, data + at * 4, sizeof value);
    return value;
  }

private:
  const transom_tensor *tensor;
  int64_t rowStride = 0, columnStride = 0;
};

/// A result of floats that the caller or the session holds.
class FloatsOut {
public:
  FloatsOut(void *data, const ShapeValue &shape, const int64_t *given)
      : data(static_cast<char *>(data)), shape(shape) {
    bool dense = !given || std::all_of(given, given + shape.rank,
                                       [](int64_t s) { return s == 0; });
    int64_t stride = 1;
    for (int64_t i = shape.rank; i-- != 0; stride *= shape.dims[i])
      strides[i] = dense ? stride : given[i];
  }
  void set(int64_t offset, float value) {
    std::memcpy(data + offset * int64_t(sizeof value), &value, sizeof value);
  }
  /// Element [row, column].
  int64_t at(int64_t row, int64_t column) const {
    return row * strides[0] + column * strides[1];
  }
  /// Writes the last dimension, which begins at `offset`.
  void setRow(int64_t offset, const float *values) {
    int64_t last = shape.rank - 1, width = shape.dims[last];
    if (strides[last] == 1) {
      std::memcpy(data + offset * int64_t(sizeof(float)), values,
                  size_t(width) * sizeof(float));
      return;
    }
    for (int64_t i = 0; i != width; ++i)
      set(offset + i * strides[last], values[i]);
  }
  /// Writes zeros where the last dimension begins at `offset`.
  void clearRow(int64_t offset) {
    int64_t last = shape.rank - 1;
    for (int64_t i = 0; i != shape.dims[last]; ++i)
      set(offset + i * strides[last], 0);
  }
  int64_t rowStride() const { return strides[0]; }

private:
  char *data;
  ShapeValue shape;
  int64_t strides[TRANSOM_MAX_RANK];
};

/// What a derived entry computes from the logits.
enum class Kind {
  PerToken,  ///< those of each token
  LastToken, ///< those of the last token
  Score,     ///< the probability of the next token
};

Kind getKind(const Entry &entry) {
  if (entry.kind() == EntryKind::Score)
    return Kind::Score;
  return entry.outputs[0].dims.size() == 3 ? Kind::PerToken : Kind::LastToken;
}

/// One call of a derived entry.
class DerivedCall {
public:
  DerivedCall(Session &session, const Entry &entry, const Call &call,
              const DerivedEntryStorage &storage, FloatsOut out)
      : decoder(*session.decoder()), storage(storage), kind(getKind(entry)),
        ids(call.input(0), call.inputShape(0).dims[1]),
        mask(call.input(1), call.inputShape(0).dims[1]),
        batch(call.inputShape(0).dims[0]), columns(call.inputShape(0).dims[1]),
        out(out) {
    maxStepTokens = session.config().maxTokens;
    if (kind != Kind::LastToken)
      maxStepTokens = std::min(maxStepTokens, decoder.maxLogits());
  }

  /// Ids, mask, lengths, room in the cache: all that can be wrong.
  Result<void> check() const;
  Result<void> run();

private:
  Result<void> checkRow(int64_t row) const;
  int64_t countTokens(int64_t row) const;
  Result<void> add(int64_t row, int64_t rows);
  Result<void> runGroup();
  Result<void> runLong(int64_t row, int64_t rows);
  void gather(int64_t row, int64_t &column, int64_t count, int64_t *tokens);
  Result<void> give(int64_t row, int64_t column, int64_t index, int64_t count,
                    const float *logits);
  Result<void> giveScore(int64_t row, int64_t column, int64_t index,
                         const float *logits);
  void clear(int64_t row);
  /// The first column from `column` on that holds a token; `columns` without
  /// one.
  int64_t realFrom(int64_t row, int64_t column) const {
    while (column < columns && !mask(row, column))
      ++column;
    return column;
  }

  DecodeEngine &decoder;
  const DerivedEntryStorage storage;
  Kind kind;
  IntegerView ids, mask;
  int64_t batch, columns;
  FloatsOut out;
  int64_t maxStepTokens; // of a step
  size_t grouped = 0;    // sequences in the group
  int64_t groupedTokens = 0, groupedBlocks = 0;
};

/// Rows that the step gets of a row of the batch: of a score, the last token
/// has no next.
int64_t DerivedCall::countTokens(int64_t row) const {
  int64_t tokens = 0;
  for (int64_t column = 0; column != columns; ++column)
    tokens += mask(row, column) != 0;
  return kind == Kind::Score ? std::max<int64_t>(tokens - 1, 0) : tokens;
}

Result<void> DerivedCall::checkRow(int64_t row) const {
  int64_t tokens = 0;
  for (int64_t column = 0; column != columns; ++column) {
    int64_t real = mask(row, column), id = ids(row, column);
    auto at = [&] {
      return " at [" + std::to_string(row) + ", " + std::to_string(column) +
             "]";
    };
    if (real != 0 && real != 1)
      return rejected("input 'attention_mask' has the value " +
                      std::to_string(real) + at() + "; masks hold 0 and 1");
    if (real && (id < 0 || id >= decoder.vocabulary()))
      return rejected("input 'input_ids' has the value " + std::to_string(id) +
                      at() + "; ids of this model are 0 to " +
                      std::to_string(decoder.vocabulary() - 1));
    tokens += real;
  }
  if (tokens > decoder.context().value_or(INT64_MAX))
    return limitError("row " + std::to_string(row) + " has " +
                      std::to_string(tokens) +
                      " tokens, over the model's context of " +
                      std::to_string(*decoder.context()));
  if (countTokens(row) > decoder.longest())
    return limitError("row " + std::to_string(row) + " has " +
                      std::to_string(tokens) + " tokens, the cache holds " +
                      std::to_string(decoder.longest()) +
                      " of one sequence; a session with a larger "
                      "max_kv_tokens holds more");
  return {};
}

Result<void> DerivedCall::check() const {
  int64_t longest = 0;
  for (int64_t row = 0; row != batch; ++row) {
    if (Result<void> done = checkRow(row); !done)
      return done;
    longest = std::max(longest, countTokens(row));
  }
  return longest ? decoder.checkRoom(longest) : Result<void>();
}

Result<void> DerivedCall::run() {
  Result<void> done;
  for (int64_t row = 0; row != batch && done; ++row) {
    clear(row);
    int64_t rows = countTokens(row);
    if (rows > maxStepTokens) {
      done = runGroup();
      if (done)
        done = runLong(row, rows);
    } else if (rows > 0) {
      done = add(row, rows);
    }
  }
  if (done)
    return runGroup();
  for (size_t i = 0; i != grouped; ++i)
    decoder.free(storage.inputs[i].sequence);
  return done;
}

/// Adds a whole sequence to the group; runs the group first if it is full.
Result<void> DerivedCall::add(int64_t row, int64_t rows) {
  bool full = groupedTokens + rows > maxStepTokens ||
              decoder.freeSequences() == 0 ||
              (groupedBlocks + getNumKvBlocks(rows)) * kvBlockSize >
                  decoder.freePositions();
  if (full && grouped)
    if (Result<void> done = runGroup(); !done)
      return done;
  TRANSOM_ASSIGN(int32_t sequence, decoder.create());
  int64_t column = 0, *tokens = storage.tokens + groupedTokens;
  gather(row, column, rows, tokens);
  storage.inputs[grouped] = {sequence, tokens, rows,
                             kind == Kind::LastToken ? 1 : rows};
  storage.batchRows[grouped++] = row;
  groupedTokens += rows;
  groupedBlocks += getNumKvBlocks(rows);
  return {};
}

/// Runs the sequences of the group and frees them.
Result<void> DerivedCall::runGroup() {
  if (grouped == 0)
    return {};
  Result<void> done;
  Result<const float *> logits = decoder.step(storage.inputs, grouped);
  if (!logits)
    done = logits.takeError();
  for (size_t i = 0; i != grouped; ++i) {
    const StepInput &rows = storage.inputs[i];
    decoder.free(rows.sequence);
    if (!done)
      continue;
    done = give(storage.batchRows[i], 0, 0, rows.num_tokens, *logits);
    *logits += rows.num_logits * decoder.width();
  }
  grouped = 0;
  groupedTokens = groupedBlocks = 0;
  return done;
}

/// Runs one sequence in chunks.
Result<void> DerivedCall::runLong(int64_t row, int64_t rows) {
  TRANSOM_ASSIGN(int32_t sequence, decoder.create());
  Result<void> done;
  int64_t column = 0;
  for (int64_t begin = 0; begin != rows && done;) {
    int64_t count = std::min(maxStepTokens, rows - begin), first = column;
    gather(row, column, count, storage.tokens);
    bool last = begin + count == rows;
    StepInput chunk{sequence, storage.tokens, count,
                    kind != Kind::LastToken ? count : int64_t(last)};
    Result<const float *> logits = decoder.step(&chunk, 1);
    done = !logits            ? Result<void>(logits.takeError())
           : chunk.num_logits ? give(row, first, begin, count, *logits)
                              : Result<void>();
    begin += count;
  }
  decoder.free(sequence);
  return done;
}

/// The next real tokens of a row; moves `column` after them.
void DerivedCall::gather(int64_t row, int64_t &column, int64_t count,
                         int64_t *tokens) {
  for (int64_t i = 0; i != count; ++i) {
    column = realFrom(row, column);
    tokens[i] = ids(row, column++);
  }
}

/// Makes results of logits: those of `count` real tokens from a column on, the
/// first being token `index`, or those of the last of them.
Result<void> DerivedCall::give(int64_t row, int64_t column, int64_t index,
                               int64_t count, const float *logits) {
  if (kind == Kind::LastToken) {
    out.setRow(out.at(row, 0), logits);
    return {};
  }
  for (int64_t i = 0; i != count; ++i, logits += decoder.width()) {
    column = realFrom(row, column);
    if (kind == Kind::PerToken)
      out.setRow(out.at(row, column), logits);
    else if (Result<void> done = giveScore(row, column, index + i, logits);
             !done)
      return done;
    ++column;
  }
  return {};
}

/// The log-probability of the real token after the one at `column`.
Result<void> DerivedCall::giveScore(int64_t row, int64_t column, int64_t index,
                                    const float *logits) {
  if (firstNonFinite(logits, decoder.width()) >= 0)
    return nonFiniteLogit(index, "row " + std::to_string(row));
  int64_t next = realFrom(row, column + 1);
  double target = logits[ids(row, next)];
  out.set(out.at(row, next - 1),
          float(target - logSumExp(logits, decoder.width())));
  return {};
}

/// Zeros where padding will stay.
void DerivedCall::clear(int64_t row) {
  if (kind != Kind::PerToken)
    return out.clearRow(out.at(row, 0));
  for (int64_t column = 0; column != columns; ++column)
    if (!mask(row, column))
      out.clearRow(out.at(row, column));
}

} // namespace

void DerivedEntryLayout::addTo(ExecutorExtension &extension, int64_t maxTokens,
                               int64_t maxSequences) {
  const CheckedSize sequences = CheckedSize::fromSigned(maxSequences);
  extension.regions.push_back(CheckedSize::fromSigned(maxTokens) * 8);
  extension.regions.push_back(sequences * sizeof(StepInput));
  extension.regions.push_back(sequences * 8);
}

void DerivedEntryLayout::place(const ExecutorLayout &executor, size_t first) {
  tokens = executor.extension[first];
  inputs = executor.extension[first + 1];
  batchRows = executor.extension[first + 2];
}

DerivedEntryStorage
DerivedEntryLayout::getStorage(const Executor &executor) const {
  return {executor.at<int64_t>(tokens), executor.at<StepInput>(inputs),
          executor.at<int64_t>(batchRows)};
}

/// The memory of the result: the caller's, or the executor's if the caller
/// leaves it out.
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
  Call call(entry, session.executor().getStorage(entry));
  if (Result<void> done = call.bindInputs(inputs, inputCount, true); !done)
    return done;
  if (getKind(entry) == Kind::Score && call.inputShape(0).dims[1] < 2)
    return rejected("entry 'score' needs two tokens or more, got 1");
  if (Result<void> done = call.bindOutputs(outputs, outputCount, true); !done)
    return done;
  const ShapeValue &shape = call.outputShape(0);
  const transom_tensor *given = call.output(0);
  TRANSOM_ASSIGN(void *data, findResult(session, entry, call));
  DerivedCall derived(session, entry, call, session.derivedEntryStorage(),
                      FloatsOut(data, shape, given ? given->strides : nullptr));
  if (Result<void> done = derived.check(); !done)
    return done;
  if (Result<void> done = derived.run(); !done)
    return done;
  for (size_t i = 0; i != outputCount; ++i) {
    outputs[i].dtype = entry.outputs[0].dtype;
    outputs[i].rank = int32_t(shape.rank);
    std::copy_n(shape.dims, shape.rank, outputs[i].shape);
  }
  return {};
}
