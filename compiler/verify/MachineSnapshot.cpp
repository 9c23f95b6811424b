// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a frame. Tables are trusted: runtime tests check that they match the
// inputs.
#include "compiler/verify/MachineSnapshot.h"
#include "compiler/verify/CacheBytes.h"

using namespace mlir;

namespace transom {

//===----------------------------------------------------------------------===//
// Snapshots
//===----------------------------------------------------------------------===//

/// Argument bytes as passed to the code.
static Result<int64_t> getArgumentBytes(const ManifestTensor &tensor,
                                        const ManifestEntry &entry,
                                        const int64_t *symbols) {
  int64_t bytes = tensor.dtype == DType::Bool ? 1
                  : tensor.dtype == DType::I64 || tensor.dtype == DType::I32
                      ? 8
                      : 4;
  for (const Polynomial &dim : tensor.shape) {
    TRANSOM_ASSIGN(
        int64_t size,
        dim.evaluate([&](const std::string &name) -> std::optional<int64_t> {
          for (size_t i = 0; i != entry.symbolOrder.size(); ++i)
            if (entry.symbolOrder[i] == name)
              return symbols[i];
          return std::nullopt;
        }));
    bytes *= size;
  }
  return bytes;
}

Result<MachineSnapshot> MachineSnapshot::take(const SteppedDispatch &dispatch,
                                              const ManifestEntry &entry) {
  const transom_frame &frame = *dispatch.frame;
  MachineSnapshot snapshot;
  snapshot.arena.assign(frame.arena, static_cast<size_t>(dispatch.arenaBytes));
  if (dispatch.blocks)
    snapshot.blocks.assign(dispatch.blocks,
                           static_cast<size_t>(dispatch.blockBytes));
  snapshot.symbols.assign(frame.symbols,
                          frame.symbols + entry.symbolOrder.size());
  for (const auto *tensors : {&entry.inputs, &entry.outputs})
    for (const ManifestTensor &tensor : *tensors) {
      TRANSOM_ASSIGN(int64_t bytes,
                     getArgumentBytes(tensor, entry, frame.symbols));
      const auto *data =
          static_cast<const char *>(frame.args[snapshot.arguments.size()]);
      snapshot.isLeftOut.push_back(!data);
      snapshot.arguments.emplace_back(
          data ? std::string(data, static_cast<size_t>(bytes))
               : std::string(static_cast<size_t>(bytes), 0));
    }
  return Result<MachineSnapshot>(std::move(snapshot));
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

RaggedBatch MachineState::readTable(const transom_ragged_batch &table,
                                    bool isStep) const {
  RaggedBatch ragged;
  ragged.batch = table.num_sequences;
  ragged.columns = table.columns;
  for (int64_t row = 0; row < table.num_tokens; ++row) {
    const int64_t sequence = table.token_sequence[row];
    const transom_sequence &own = table.sequences[sequence];
    ragged.rows.push_back({sequence, table.token_column[row],
                           isStep || row - own.first_token < own.num_keys});
  }
  for (int64_t i = 0; isStep && i < table.num_sequences; ++i)
    ragged.steps.push_back(
        {i, table.sequences[i].past, table.sequences[i].num_tokens});
  return ragged;
}

int64_t MachineState::findSequence(const transom_ragged_batch &table,
                                   int64_t row) const {
  for (int64_t i = 0; i < table.num_sequences; ++i) {
    const transom_sequence &sequence = table.sequences[i];
    if (row >= sequence.first_token &&
        row < sequence.first_token + sequence.num_tokens)
      return i;
  }
  return 0;
}

/// Sequences with shared keys have one entry in the table, but several here.
RaggedBatch MachineState::readKeyTable(const transom_ragged_batch &table,
                                       const RaggedBatch &step) const {
  RaggedBatch ragged;
  ragged.batch = step.batch;
  ragged.rows = step.rows;
  int64_t row = 0;
  for (const SequenceRows &own : step.steps) {
    const int64_t index = findSequence(table, row);
    ragged.steps.push_back({own.sequence, table.sequences[index].num_keys, 0});
    row += own.rows;
  }
  return ragged;
}

std::vector<RaggedBatch> MachineState::readTables() const {
  std::vector<RaggedBatch> tables;
  for (size_t i = 0; i != entry.ragged.size(); ++i) {
    const ManifestRaggedBatch &rule = entry.ragged[i];
    const transom_ragged_batch &table = dispatch.frame->ragged_batches[i];
    tables.push_back(rule.cacheGroup ? readKeyTable(table, tables[0])
                                     : readTable(table, rule.sequences));
  }
  return tables;
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

StringRef getCacheSymbol(const PhaseSite &site, Value cache) {
  if (auto get = cache.getDefiningOp<kern::GetCacheOp>())
    return get.getCache();
  kern::LayersOp layers = site.layers;
  return layers.getParameter(site.layer, cache).getValue();
}

CachePlace MachineState::findPlace(kern::CacheOp cache, int64_t ragged,
                                   int64_t sequence, int64_t position) const {
  const transom_ragged_batch *tables = dispatch.frame->ragged_batches;
  // A key table may have fewer sequences than the step.
  int64_t index = sequence;
  if (entry.ragged[ragged].cacheGroup)
    index =
        findSequence(tables[ragged], tables[0].sequences[sequence].first_token);
  const int64_t first = tables[ragged].sequences[index].first_block;
  char *block = dispatch.frame->caches[cache.getGroup().value_or(0)]
                    .block_table[first + position / kvBlockSize];
  return {block ? block + cache.getOffset().value_or(0) : nullptr,
          position % kvBlockSize};
}

/// Reads the cache contents for attention: all keys in the table's sequences.
void MachineState::readCaches(const PhaseSite &site, const PhaseState &state,
                              bool keepsScales, CacheStore &caches) const {
  kern::PhaseOp phase = site.phase;
  for (auto op : phase.getBody().getOps<kern::AttentionOp>()) {
    if (!op.getCache())
      continue;
    const StringRef symbol = getCacheSymbol(site, op.getCache());
    auto cache = symbols.lookup<kern::CacheOp>(symbol);
    auto type = cast<kern::CacheType>(op.getCache().getType());
    const int64_t table =
        cast<kern::RaggedType>(op.getKeyRagged().getType()).getIndex();
    for (const SequenceRows &own : state.ragged[table].steps) {
      CacheStore::Entry kept;
      for (int64_t i = 0; i < own.past + own.rows; ++i) {
        const CachePlace place = findPlace(cache, table, own.sequence, i);
        // Positions dropped by a window are not read.
        const std::string zeros(
            place.layer ? 0 : static_cast<size_t>(type.getByteSize()), 0);
        CachedPosition numbers =
            CacheBytes(type, place.position)
                .decode(place.layer ? place.layer : zeros.data());
        if (!keepsScales)
          numbers.applyScales();
        kept.keys.push_back(std::move(numbers.key.elements));
        kept.values.push_back(std::move(numbers.value.elements));
        if (numbers.key.scales.empty())
          continue;
        kept.keyScales.push_back(std::move(numbers.key.scales));
        kept.valueScales.push_back(std::move(numbers.value.scales));
      }
      caches.assign(symbol, own.sequence, std::move(kept));
    }
  }
}

PhaseState MachineState::makeState(const MachineSnapshot &before,
                                   const std::set<std::string> &known) const {
  PhaseState state;
  for (size_t i = 0; i != entry.symbolOrder.size(); ++i)
    state.symbols[entry.symbolOrder[i]] = before.symbols[i];
  for (const ManifestBoundedSize &size : entry.boundedSizes)
    if (!known.count(size.name))
      state.symbols.erase(size.name);
  state.arena = {before.arena.data(),
                 static_cast<int64_t>(before.arena.size())};
  state.offsets.assign(dispatch.frame->offsets,
                       dispatch.frame->offsets + entry.buffers.size());
  for (size_t i = 0; i != before.arguments.size(); ++i)
    state.arguments.push_back(before.getArgument(i));
  state.ragged = readTables();
  return state;
}

} // namespace transom
