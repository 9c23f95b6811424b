// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources run in groups with similar length, the longest first, because the
// states between the two entries are padded to the longest source in a group.
// Results do not depend on the groups.
#include "runtime/decode/SourceEncoder.h"
#include "runtime/base/Finally.h"
#include <algorithm>

using namespace transom;

static const Argument *findInput(const Entry &entry, Role role) {
  auto found =
      std::find_if(entry.inputs.begin(), entry.inputs.end(),
                   [&](const Argument &input) { return input.role == role; });
  return found == entry.inputs.end() ? nullptr : &*found;
}

SourceEncoder::SourceEncoder(Executor &executor, const DecodeLayout &layout,
                             PagedKvCache &cache)
    : executor(executor), layout(layout), cache(cache),
      source(*executor.program().findEntry(EntryKind::Source)),
      encoder(*executor.program().findEntry(
          executor.program().manifest().decoder->encoder.c_str())),
      ids(findInput(encoder, Role::Ids)), mask(findInput(encoder, Role::Mask)) {
}

static bool isToken(const SourceInput &source, int64_t column) {
  return !source.mask || source.mask[column] != 0;
}

/// Counts the columns up to the last token, 0 without one.
static int64_t getColumns(const SourceInput &source) {
  int64_t columns = source.columns;
  while (columns > 0 && !isToken(source, columns - 1))
    --columns;
  return columns;
}

int64_t SourceEncoder::longest() const {
  int64_t longest = executor.config().maxTokens;
  if (encoder.positionInput >= 0)
    longest = std::min(longest, encoder.positionLimit);
  if (const int symbol = ids->dims[1].onlySymbol(); symbol >= 0)
    longest =
        std::min(longest, encoder.maxima[size_t(symbol)].value_or(longest));
  for (const KvGroup &group : cache.groups())
    if (group.readOnly)
      longest = std::min(longest, group.maxPositions);
  return longest;
}

Result<void> SourceEncoder::checkSource(const SourceInput &source,
                                        size_t index) const {
  auto getName = [&] { return "source " + std::to_string(index); };
  const int64_t columns = source.ids ? getColumns(source) : 0;
  if (columns == 0)
    return rejected(getName() + " has no tokens; it takes 1 or more");
  if (columns > longest())
    return limitError(
        getName() + " has " + std::to_string(columns) +
        " columns up to its last token, over the maximum " +
        std::to_string(longest()) +
        (longest() == executor.config().maxTokens
             ? " of the session; one with a larger max_tokens takes more"
             : " of the model"));
  const int64_t bound = ids->bound.value_or(INT64_MAX);
  for (int64_t i = 0; i != columns; ++i) {
    if (source.mask && source.mask[i] != 0 && source.mask[i] != 1)
      return rejected("the mask of " + getName() + " has the value " +
                      std::to_string(source.mask[i]) + " in column " +
                      std::to_string(i) + "; masks hold 0 and 1");
    if (source.ids[i] < 0 || source.ids[i] >= bound)
      return rejected("token " + std::to_string(i) + " of " + getName() +
                      " is " + std::to_string(source.ids[i]) +
                      "; ids of the encoder are 0 to " +
                      std::to_string(bound - 1));
  }
  return {};
}

Result<void> SourceEncoder::check(const SourceInput *sources,
                                  size_t count) const {
  for (size_t i = 0; i != count; ++i)
    TRANSOM_TRY(checkSource(sources[i], i));
  return {};
}

Result<void> SourceEncoder::add(const SourceInput *sources, size_t count,
                                int32_t *sequences) {
  TRANSOM_TRY(executor.takeCancel());
  TRANSOM_TRY(check(sources, count));
  size_t made = 0;
  bool isDone = false;
  const Finally undo([&] {
    for (size_t i = 0; i != made && !isDone; ++i)
      cache.free(sequences[i]);
  });
  for (; made != count; ++made) {
    TRANSOM_ASSIGN(sequences[made], cache.create());
  }
  TRANSOM_TRY(fillAll(sources, count, sequences));
  isDone = true;
  return {};
}

Result<void> SourceEncoder::fillAll(const SourceInput *sources, size_t count,
                                    const int32_t *sequences) {
  // Sort by decreasing length; the sort is stable.
  auto *order = executor.at<SourceOrder>(layout.sourceOrder);
  for (size_t i = 0; i != count; ++i)
    order[i] = {getColumns(sources[i]), int64_t(i)};
  std::sort(order, order + count,
            [](const SourceOrder &a, const SourceOrder &b) {
              return a.columns != b.columns ? a.columns > b.columns
                                            : a.index < b.index;
            });

  // A group has as many sources as fit with padding.
  const ExecutorConfig &config = executor.config();
  int64_t most = config.maxBatch;
  if (const int symbol = ids->dims[0].onlySymbol(); symbol >= 0)
    most = std::min(most, encoder.maxima[size_t(symbol)].value_or(most));
  for (size_t begin = 0; begin != count;) {
    const int64_t batch = std::min({int64_t(count - begin), most,
                                    config.maxTokens / order[begin].columns});
    TRANSOM_TRY(fillGroup(sources, order + begin, batch, sequences));
    begin += size_t(batch);
  }
  return {};
}

/// Encodes `batch` sources and fills the sequences' caches.
Result<void> SourceEncoder::fillGroup(const SourceInput *sources,
                                      const SourceOrder *order, int64_t batch,
                                      const int32_t *sequences) {
  const int64_t columns = order[0].columns;
  for (int64_t row = 0; row != batch; ++row)
    TRANSOM_TRY(stage(sources[order[row].index], sequences[order[row].index],
                      row, columns));
  const transom_tensor inputs[] = {
      makeTensor(*ids, layout.sourceIds, batch, columns),
      makeTensor(*mask, layout.sourceMask, batch, columns)};
  transom_tensor states =
      makeTensor(encoder.outputs[0], layout.states, batch, columns);
  TRANSOM_TRY(executor.run(encoder, inputs, 2, &states, 1));
  const transom_tensor encoded[] = {
      makeTensor(source.inputs[0], layout.states, batch, columns),
      makeTensor(source.inputs[1], layout.sourceMask, batch, columns)};
  return executor.fill(
      source, encoded, 2,
      {cache.caches(), executor.at<int64_t>(layout.sourceBlocks)});
}

/// Writes row `row` in the padded batch, and gives the source's sequence blocks
/// in all read-only groups.
Result<void> SourceEncoder::stage(const SourceInput &source, int32_t sequence,
                                  int64_t row, int64_t columns) {
  int64_t *rowIds = executor.at<int64_t>(layout.sourceIds) + row * columns;
  int64_t *rowMask = executor.at<int64_t>(layout.sourceMask) + row * columns;
  const int64_t used = getColumns(source);
  int64_t tokens = 0;
  for (int64_t i = 0; i != columns; ++i) {
    rowIds[i] = i < used ? source.ids[i] : 0;
    rowMask[i] = i < used && isToken(source, i);
    tokens += rowMask[i];
  }
  for (size_t g = 0; g != cache.groups().size(); ++g)
    if (cache.groups()[g].readOnly)
      TRANSOM_TRY(cache.fillReadOnly(sequence, g, tokens));
  executor.at<int64_t>(layout.sourceBlocks)[row] =
      cache.getFirstTableEntry(sequence);
  return {};
}

/// A tensor [batch, columns] or [batch, columns, width] over a region.
transom_tensor SourceEncoder::makeTensor(const Argument &argument,
                                         const Region &region, int64_t batch,
                                         int64_t columns) const {
  const bool isStates = argument.dtype == TRANSOM_DTYPE_F32;
  transom_tensor tensor{};
  tensor.name = argument.name.c_str();
  tensor.dtype = isStates ? TRANSOM_DTYPE_F32 : TRANSOM_DTYPE_I64;
  tensor.rank = isStates ? 3 : 2;
  tensor.shape[0] = batch;
  tensor.shape[1] = columns;
  tensor.shape[2] = isStates ? source.sourceWidth : 0;
  tensor.data = executor.at<char>(region);
  tensor.capacity = region.bytes;
  return tensor;
}
