// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every row has a position in the key panels, also one that only asks: its
// position lies behind the keys of its sequence, where nothing looks.
#include "runtime/execute/RaggedBatch.h"

using namespace transom;

namespace {

/// Adds rows and sequences one after the other.
class Builder {
public:
  Builder(const SegmentsStorage &storage) : storage(storage) {}

  void begin() {
    first = rows;
    column0 = -1;
  }
  void add(int64_t column) {
    if (column == 0)
      column0 = rows;
    storage.rowSequence[rows] = int32_t(sequences);
    storage.rowColumn[rows] = int32_t(column);
    storage.rowKey[rows] = keyBase + (rows - first);
    ++rows;
  }
  void end(int64_t keys) {
    storage.sequences[sequences++] = {first,   rows - first, keys,
                                      keyBase, column0,      0};
    keyBase += alignToPanel(rows - first);
  }
  int64_t rowsOfSequence() const { return rows - first; }

  void finish(int64_t columns, transom_segments &segments) const {
    segments = {sequences,         columns,           rows,
                keyBase,           storage.sequences, storage.rowSequence,
                storage.rowColumn, storage.rowKey};
  }

private:
  const SegmentsStorage &storage;
  int64_t sequences = 0, rows = 0, first = 0, keyBase = 0, column0 = -1;
};

} // namespace

template <typename Mask>
int64_t transom::countRows(const Mask *mask, int64_t batch, int64_t columns,
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
                          bool keepFirst, const SegmentsStorage &storage,
                          transom_segments &segments) {
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
  builder.finish(columns, segments);
}

void transom::buildUniform(int64_t batch, int64_t columns,
                           const SegmentsStorage &storage,
                           transom_segments &segments) {
  Builder builder(storage);
  for (int64_t b = 0; b != batch; ++b) {
    builder.begin();
    for (int64_t column = 0; column != columns; ++column)
      builder.add(column);
    builder.end(columns);
  }
  builder.finish(columns, segments);
}

template int64_t transom::countRows(const int64_t *, int64_t, int64_t, bool);
template int64_t transom::countRows(const uint8_t *, int64_t, int64_t, bool);
template void transom::buildRagged(const int64_t *, int64_t, int64_t, bool,
                                   const SegmentsStorage &, transom_segments &);
template void transom::buildRagged(const uint8_t *, int64_t, int64_t, bool,
                                   const SegmentsStorage &, transom_segments &);
