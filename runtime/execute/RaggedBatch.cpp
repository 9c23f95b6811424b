// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each token has a position in the key panels. A token that is a query but not
// a key has a position after its sequence's keys, where no query reads.
#include "runtime/execute/RaggedBatch.h"

using namespace transom;

namespace {

/// Adds rows and sequences sequentially.
class Builder {
public:
  Builder(const RaggedBatchStorage &storage) : storage(storage) {}

  void begin() {
    first = rows;
    column0 = -1;
  }
  void add(int64_t column) {
    if (column == 0)
      column0 = rows;
    storage.tokenSequence[rows] = int32_t(sequences);
    storage.tokenColumn[rows] = int32_t(column);
    storage.tokenKey[rows] = keyBase + (rows - first);
    ++rows;
  }
  void end(int64_t keys) {
    storage.sequences[sequences++] = {
        first, rows - first, keys, keyBase, column0, 0, 0};
    keyBase += (rows - first + TRANSOM_PANEL_WIDTH - 1) / TRANSOM_PANEL_WIDTH *
               TRANSOM_PANEL_WIDTH;
  }
  int64_t rowsOfSequence() const { return rows - first; }

  void finish(int64_t columns, transom_ragged_batch &ragged) const {
    ragged = {sequences,
              columns,
              rows,
              keyBase,
              storage.sequences,
              storage.tokenSequence,
              storage.tokenColumn,
              storage.tokenKey};
  }

private:
  const RaggedBatchStorage &storage;
  int64_t sequences = 0, rows = 0, first = 0, keyBase = 0, column0 = -1;
};

} // namespace

template <typename Mask>
int64_t transom::countTokens(const Mask *mask, int64_t batch, int64_t columns,
                             bool keepFirst) {
  int64_t rows = 0;
  for (int64_t i = 0; i != batch * columns; ++i)
    rows += mask[i];
  if (keepFirst)
    for (int64_t b = 0; b != batch; ++b)
      rows += !mask[b * columns];
  return rows;
}

template <typename Mask>
void transom::buildRagged(const Mask *mask, int64_t batch, int64_t columns,
                          bool keepFirst, const RaggedBatchStorage &storage,
                          transom_ragged_batch &ragged) {
  Builder builder(storage);
  for (int64_t b = 0; b != batch; ++b, mask += columns) {
    builder.begin();
    for (int64_t column = 0; column != columns; ++column)
      if (mask[column])
        builder.add(column);
    int64_t keys = builder.rowsOfSequence();
    if (keepFirst && !mask[0])
      builder.add(0);
    builder.end(keys);
  }
  builder.finish(columns, ragged);
}

void transom::buildUniform(int64_t batch, int64_t columns,
                           const RaggedBatchStorage &storage,
                           transom_ragged_batch &ragged) {
  Builder builder(storage);
  for (int64_t b = 0; b != batch; ++b) {
    builder.begin();
    for (int64_t column = 0; column != columns; ++column)
      builder.add(column);
    builder.end(columns);
  }
  builder.finish(columns, ragged);
}

template int64_t transom::countTokens(const int64_t *, int64_t, int64_t, bool);
template int64_t transom::countTokens(const uint8_t *, int64_t, int64_t, bool);
template void transom::buildRagged(const int64_t *, int64_t, int64_t, bool,
                                   const RaggedBatchStorage &,
                                   transom_ragged_batch &);
template void transom::buildRagged(const uint8_t *, int64_t, int64_t, bool,
                                   const RaggedBatchStorage &,
                                   transom_ragged_batch &);
