// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries in a session run sequentially in one arena, so the largest one
// counts. Caches are planned as in a session.
#include "tools/commands/inspect/MemoryTable.h"
#include "runtime/kvcache/KvPlan.h"
#include "runtime/manifest/ExampleSizes.h"
#include "tools/commands/Command.h"
#include "tools/commands/explain/ExplainFormat.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

/// Returns the model's max sequence length, if it is limited.
static std::optional<int64_t> getMaxLength(const Manifest &manifest) {
  std::optional<int64_t> most;
  auto limit = [&](int64_t value) {
    most = std::min(value, most.value_or(value));
  };
  for (const ManifestSymbol &symbol : manifest.symbols)
    if (symbol.name != "batch" && symbol.max)
      limit(*symbol.max);
  for (const ManifestEntry &entry : manifest.entries)
    if (entry.positionLimit)
      limit(entry.positionLimit->max);
  if (manifest.decoder && manifest.decoder->context)
    limit(*manifest.decoder->context);
  return most;
}

/// Returns true if calls have several sequences.
static bool hasBatch(const Manifest &manifest) {
  return manifest.decoder || manifest.findSymbol("batch");
}

/// Fills in omitted sizes, and checks the others.
static Result<MemorySizes> completeSizes(const Manifest &manifest,
                                         MemorySizes sizes) {
  const std::optional<int64_t> most = getMaxLength(manifest);
  for (int64_t length : sizes.lengths)
    if (most && length > *most)
      return usageError("'--seq " + std::to_string(length) +
                        "': the model takes at most " + std::to_string(*most) +
                        " tokens");
  if (!sizes.batches.empty() && !hasBatch(manifest))
    return usageError(
        "'--batch': the model's inputs have no dimension 'batch'");
  if (sizes.batches.empty())
    sizes.batches = hasBatch(manifest) ? std::vector<int64_t>{1, 8, 32}
                                       : std::vector<int64_t>{1};
  if (sizes.lengths.empty()) {
    for (int64_t length : {128, 512, 2048})
      if (!most || length < *most)
        sizes.lengths.push_back(length);
    if (most)
      sizes.lengths.push_back(*most);
  }
  return sizes;
}

namespace {

/// Computes table rows.
class MemoryPlanner {
public:
  MemoryPlanner(const Manifest &manifest, uint64_t weightsBytes)
      : manifest(manifest), weightsBytes(weightsBytes) {}

  Result<MemoryRow> plan(int64_t batch, int64_t length) const;

private:
  bool isEncoderDecoder() const {
    return manifest.decoder && !manifest.decoder->encoder.empty();
  }
  /// Returns the sizes for the largest call on an entry.
  ExampleSizes getLargestCall(const ManifestEntry &entry, int64_t batch,
                              int64_t length) const;
  Result<uint64_t> planCaches(int64_t batch, int64_t length) const;

  const Manifest &manifest;
  const uint64_t weightsBytes;
};

} // namespace

/// Returns the tokens per sequence in a step.
static int64_t getChunk(int64_t batch, int64_t length) {
  return std::clamp<int64_t>(MemoryTable::stepTokens / batch, 1, length);
}

/// A step computes a chunk for each sequence after the previous ones. An
/// encoder-decoder encodes as many sources together as fit into a step's
/// tokens.
ExampleSizes MemoryPlanner::getLargestCall(const ManifestEntry &entry,
                                           int64_t batch,
                                           int64_t length) const {
  const int64_t chunk = getChunk(batch, length);
  if (entry.kind == EntryKind::Step)
    return {batch, chunk, length - chunk};
  if (isEncoderDecoder())
    return {std::clamp<int64_t>(batch * chunk / length, 1, batch), length};
  return {batch, length};
}

Result<uint64_t> MemoryPlanner::planCaches(int64_t batch,
                                           int64_t length) const {
  DecodeConfig sizes;
  sizes.maxSequences = batch;
  sizes.maxKvTokens = batch * length;
  sizes.maxSourceTokens = batch * alignToKvBlock(length);
  const int64_t tokens = batch * getChunk(batch, length);
  TRANSOM_ASSIGN(
      KvPlan plan,
      KvPlan::create(*manifest.decoder, sizes,
                     isEncoderDecoder() ? std::max(tokens, length) : tokens));
  uint64_t bytes = 0;
  for (const KvGroup &group : plan.groups) {
    int64_t ofGroup = 0;
    if (__builtin_mul_overflow(group.numBlocks, group.blockBytes, &ofGroup) ||
        __builtin_add_overflow(bytes, static_cast<uint64_t>(ofGroup), &bytes))
      return limitError("the sizes of the caches overflow");
  }
  return bytes;
}

Result<MemoryRow> MemoryPlanner::plan(int64_t batch, int64_t length) const {
  MemoryRow row;
  row.batch = batch;
  row.length = length;
  // All sizes must fit into 64 bits.
  const Error overflow =
      limitError("the sizes of " + std::to_string(batch) + " sequences of " +
                 std::to_string(length) + " tokens overflow");
  int64_t tokens = 0;
  if (__builtin_mul_overflow(batch, length, &tokens))
    return overflow;
  uint64_t kept = 0; // between calls
  // The largest arena counts; persistent bytes and FLOP are per entry.
  for (const ManifestEntry &entry : manifest.entries) {
    if (!entry.derivedFrom.empty())
      continue;
    auto arena = evaluateExample(entry.arenaBytes, entry,
                                 getLargestCall(entry, batch, length));
    auto flops = evaluateExample(entry.flops, entry, {batch, length});
    if (!arena || !flops)
      return overflow;
    row.arenaBytes = std::max(row.arenaBytes, static_cast<uint64_t>(*arena));
    kept += static_cast<uint64_t>(getKeptBytes(entry));
    row.flops.emplace_back(entry.name, *flops);
    if (entry.kind == EntryKind::Step)
      row.tokenFlops =
          evaluateExample(entry.flops, entry, {batch, 1, length - 1});
  }
  // Add caches, then the totals.
  if (manifest.decoder) {
    TRANSOM_ASSIGN(row.cacheBytes, planCaches(batch, length));
  }
  if (__builtin_add_overflow(row.arenaBytes, row.cacheBytes, &row.allBytes) ||
      __builtin_add_overflow(row.allBytes, kept, &row.allBytes) ||
      __builtin_add_overflow(row.allBytes, weightsBytes, &row.allBytes))
    return overflow;
  return row;
}

Result<MemoryTable> MemoryTable::create(const Manifest &manifest,
                                        const MemorySizes &given) {
  TRANSOM_ASSIGN(MemorySizes sizes, completeSizes(manifest, given));
  MemoryTable table;
  table.weightsBytes = manifest.weightsBytes;
  table.hasCaches = manifest.decoder.has_value();
  const MemoryPlanner planner(manifest, table.weightsBytes);
  for (int64_t batch : sizes.batches)
    for (int64_t length : sizes.lengths) {
      TRANSOM_ASSIGN(MemoryRow row, planner.plan(batch, length));
      table.rows.push_back(std::move(row));
    }
  return table;
}

//===----------------------------------------------------------------------===//
// Text and JSON
//===----------------------------------------------------------------------===//

static std::string formatGiga(int64_t flops) {
  char text[32];
  snprintf(text, sizeof text, "%.3f", static_cast<double>(flops) * 1e-9);
  return text;
}

void MemoryTable::addText(std::string &text) const {
  if (rows.empty())
    return;
  const MemoryRow &first = rows.front();
  text += "\nmemory and GFLOP, " + std::to_string(exampleWorkers) + " workers";
  if (hasCaches)
    text += "; a step computes up to " + std::to_string(stepTokens) +
            " tokens, a row whole prompts";
  text += "\n";
  TextTable table(std::string(
      6 + hasCaches + first.flops.size() + first.tokenFlops.has_value(), 'r'));
  std::vector<std::string> titles = {"batch", "length", "weights", "arena"};
  if (hasCaches)
    titles.emplace_back("caches");
  titles.emplace_back("all");
  for (const auto &[entry, flops] : first.flops)
    titles.push_back(entry);
  if (first.tokenFlops)
    titles.emplace_back("next token");
  table.add(titles);
  for (const MemoryRow &row : rows) {
    std::vector<std::string> cells = {
        std::to_string(row.batch), std::to_string(row.length),
        formatBytes(weightsBytes), formatBytes(row.arenaBytes)};
    if (hasCaches)
      cells.push_back(formatBytes(row.cacheBytes));
    cells.push_back(formatBytes(row.allBytes));
    for (const auto &[entry, flops] : row.flops)
      cells.push_back(formatGiga(flops));
    if (row.tokenFlops)
      cells.push_back(formatGiga(*row.tokenFlops));
    table.add(std::move(cells));
  }
  text += table.str();
}

void MemoryTable::writeJson(JsonWriter &json) const {
  json.key("memory");
  json.beginObject();
  json.member("workers", exampleWorkers);
  json.member("weights_bytes", weightsBytes);
  json.key("rows");
  json.beginArray();
  for (const MemoryRow &row : rows) {
    json.beginObject();
    json.member("batch", row.batch);
    json.member("length", row.length);
    json.member("arena_bytes", row.arenaBytes);
    json.member("cache_bytes", row.cacheBytes);
    json.member("all_bytes", row.allBytes);
    json.key("flops");
    json.beginObject();
    for (const auto &[entry, flops] : row.flops)
      json.member(entry, flops);
    json.endObject();
    if (row.tokenFlops)
      json.member("token_flops", *row.tokenFlops);
    json.endObject();
  }
  json.endArray();
  json.endObject();
}
