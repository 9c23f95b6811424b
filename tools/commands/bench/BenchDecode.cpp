// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each repetition rolls back to its initial past. If a window has released
// positions in it, the past is recomputed, outside of the measured time.
#include "tools/commands/bench/BenchDecode.h"
#include "runtime/abi/Layout.h"
#include "tools/commands/bench/BenchMeasure.h"
#include <algorithm>
#include <chrono>

using namespace transom;
using namespace transom::tools;

DecoderWork DecoderWork::prefill(int64_t tokens) {
  return DecoderWork(false, 1, 0, tokens);
}

DecoderWork DecoderWork::decode(int64_t sequences, int64_t depth,
                                int64_t tokens) {
  return DecoderWork(true, sequences, depth, tokens);
}

void DecoderWork::describe(BenchRow &row) const {
  row.entry = decodes ? "decode" : "prefill";
  row.decoder = DecoderFigures{};
  row.decoder->depth = depth;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Sums the visible positions over the new rows.
static int64_t getPairs(const StepSizes &sizes, int64_t window) {
  int64_t pairs = 0;
  for (int64_t i = 0; i < sizes.tokens; ++i) {
    const int64_t seen = sizes.past + i + 1;
    pairs += window ? std::min(seen, window) : seen;
  }
  return pairs * sizes.sequences;
}

/// Sums the positions that any row in a sequence sees.
static int64_t getReads(const StepSizes &sizes, int64_t window) {
  int64_t reads = sizes.past + sizes.tokens;
  if (window)
    reads = std::min(reads, sizes.tokens + window - 1);
  return reads * sizes.sequences;
}

SymbolValues tools::getSymbols(const BenchModel &bench,
                               const StepSizes &sizes) {
  SymbolValues values;
  // Dimensions of the step inputs.
  values["parts"] = bench.threads;
  for (const ManifestTensor &input : bench.entry->inputs)
    for (const Polynomial &dim : input.shape)
      for (const std::string &name : dim.symbols())
        values[name] =
            sizes.sequences * (input.name == "wanted"    ? sizes.logits
                               : input.name == "columns" ? 0
                                                         : sizes.tokens);
  // Ragged batches: rows, keys, and the pairs and reads for each window.
  for (const ManifestRaggedBatch &ragged : bench.entry->ragged) {
    if (!ragged.sequences)
      continue;
    values[ragged.rows] = sizes.sequences * sizes.tokens;
    values[ragged.keys] = alignToPanel(sizes.past + sizes.tokens);
    auto add = [&](const std::string &suffix, int64_t window) {
      values["pairs_of_" + ragged.rows + suffix] = getPairs(sizes, window);
      values["reads_of_" + ragged.rows + suffix] = getReads(sizes, window);
    };
    add("", 0);
    values["pairs_of_" + ragged.rows + "_source"] =
        sizes.tokens * sizes.sourceTokens;
    values["reads_of_" + ragged.rows + "_source"] = sizes.sourceTokens;
    for (const ManifestCache &cache : bench.manifest.decoder->caches)
      if (cache.window)
        add("_window_" + std::to_string(cache.window), cache.window);
  }
  return values;
}

double tools::cacheBytes(const Manifest &manifest, const StepSizes &sizes) {
  double bytes = 0;
  for (const ManifestCache &cache : manifest.decoder->caches)
    bytes +=
        static_cast<double>(cache.blockBytes) / kvBlockSize *
        static_cast<double>(cache.readOnly ? sizes.cachedSourceTokens
                                           : getReads(sizes, cache.window));
  return bytes;
}

std::vector<BenchRun> DecoderWork::runs(const BenchModel &bench) const {
  std::vector<BenchRun> runs;
  const int64_t most = decodes ? 1 : longestChunk;
  for (int64_t done = 0; done < tokens;) {
    StepSizes sizes;
    sizes.sequences = sequences;
    sizes.past = depth + done;
    sizes.tokens = std::min(most, tokens - done);
    const SymbolValues symbols = getSymbols(bench, sizes);
    BenchCost cost = getCost(bench, *bench.entry, symbols);
    cost.bytes += cacheBytes(bench.manifest, sizes);
    cost.tokens = sizes.tokens * sequences;
    cost.rows = sequences;
    cost.columns = tokens;
    runs.push_back({symbols, cost});
    done += sizes.tokens;
  }
  return runs;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {

/// A decoder with a session for one line.
class StepRunner : public Runner {
public:
  StepRunner(const MeasureOptions &options, int64_t sequences, int64_t depth,
             int64_t tokens)
      : Runner(options), depth(depth), tokens(tokens),
        handles(static_cast<size_t>(sequences), -1),
        next(static_cast<size_t>(sequences)), rows(handles.size()) {}

  Result<void> prepare(const BenchModel &bench, bool decodes);
  Result<double> run() override;

private:
  Result<void> fill(size_t index);
  Result<void> goBack();
  Result<void> append(size_t index, const int64_t *ids, int64_t count);
  Result<void> step(const transom_step_input *news, size_t count);
  Result<void> decodeOnce();
  int64_t random();

  const int64_t depth, tokens;
  bool decodes = false;
  int64_t vocabulary = 1;
  SessionPtr session;
  std::vector<int32_t> handles;
  std::vector<int64_t> next; // a token for each sequence
  std::vector<transom_step_input> rows;
  size_t width = 0; // logits row width
  std::vector<float> logits;
  std::vector<int64_t> past, prompt;
  uint64_t state = 88172645463325252u;
};

} // namespace

int64_t StepRunner::random() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<int64_t>(state % static_cast<uint64_t>(vocabulary));
}

/// Rounds up to whole blocks.
static int64_t inBlocks(int64_t positions) { return alignToKvBlock(positions); }

Result<void> StepRunner::prepare(const BenchModel &bench, bool decode) {
  // Reject work that exceeds the model's limits.
  decodes = decode;
  vocabulary = std::max<int64_t>(1, bench.manifest.decoder->vocabulary);
  const std::optional<int64_t> context = bench.manifest.decoder->context;
  if (context && depth + tokens > *context)
    return limitError("a depth of " + std::to_string(depth) + " and " +
                      std::to_string(tokens) +
                      " tokens are more than the model's context of " +
                      std::to_string(*context));

  // Create a session that just fits the work.
  transom_session_options sizes = transom_session_options_default();
  sizes.threads = bench.threads;
  sizes.profile = options.trace ? 2 : options.profile ? 1 : 0;
  sizes.max_batch = sizes.max_sequences = static_cast<uint32_t>(handles.size());
  sizes.max_kv_tokens = static_cast<uint64_t>(
      static_cast<int64_t>(handles.size()) * inBlocks(depth + tokens));
  const int64_t chunk =
      std::min(DecoderWork::longestChunk, decodes ? depth : tokens);
  sizes.max_tokens = static_cast<uint64_t>(
      std::max<int64_t>(chunk, static_cast<int64_t>(handles.size())));
  TRANSOM_ASSIGN(SessionPtr created, createSession(bench.model.get(), sizes));
  session = std::move(created);

  // Choose random tokens, and fill the sequences with their past.
  transom_decoder_info info = transom_decoder_info_default();
  if (Result<void> known =
          check(transom_session_get_decoder(session.get(), &info));
      !known)
    return known;
  width = static_cast<size_t>(info.width);
  logits.resize(width * handles.size());
  for (int64_t i = 0; i < depth; ++i)
    past.push_back(random());
  for (int64_t i = 0; i < (decodes ? 0 : tokens); ++i)
    prompt.push_back(random());
  for (size_t i = 0; i < handles.size(); ++i)
    if (Result<void> filled = fill(i); !filled)
      return filled;
  return {};
}

/// Creates a sequence and appends the past.
Result<void> StepRunner::fill(size_t index) {
  if (Result<void> opened =
          check(transom_sequence_create(session.get(), &handles[index]));
      !opened)
    return opened;
  return append(index, past.data(), depth);
}

Result<void> StepRunner::step(const transom_step_input *news, size_t count) {
  return check(transom_session_step(session.get(), news, count, logits.data(),
                                    logits.size() * sizeof(float)));
}

/// Appends tokens to a sequence, chunk by chunk.
Result<void> StepRunner::append(size_t index, const int64_t *ids,
                                int64_t count) {
  for (int64_t done = 0; done < count;) {
    const int64_t take = std::min(DecoderWork::longestChunk, count - done);
    transom_step_input chunk = {};
    chunk.sequence = handles[index];
    chunk.tokens = ids + done;
    chunk.num_tokens = take;
    done += take;
    chunk.num_logits = done == count;
    if (Result<void> stepped = step(&chunk, 1); !stepped)
      return stepped;
    if (Result<void> kept = keepTimes(session.get()); !kept)
      return kept;
  }
  return {};
}

Result<void> StepRunner::goBack() {
  for (size_t i = 0; i < handles.size(); ++i) {
    if (transom_sequence_rewind(session.get(), handles[i], depth) ==
        TRANSOM_STATUS_OK)
      continue;
    transom_sequence_free(session.get(), handles[i]);
    if (Result<void> filled = fill(i); !filled)
      return filled;
  }
  return {};
}

/// Returns the index of the largest number.
static int64_t largest(const float *numbers, size_t count) {
  constexpr size_t lanes = 16;
  float best[lanes];
  std::fill_n(best, lanes, numbers[0]);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane)
      best[lane] = std::max(best[lane], numbers[i + lane]);
  float most = *std::max_element(best, best + lanes);
  for (; i < count; ++i)
    most = std::max(most, numbers[i]);
  return std::find(numbers, numbers + count, most) - numbers;
}

Result<void> StepRunner::decodeOnce() {
  for (int64_t done = 0; done < tokens; ++done) {
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].sequence = handles[i];
      rows[i].tokens = &next[i];
      rows[i].num_tokens = rows[i].num_logits = 1;
    }
    if (Result<void> stepped = step(rows.data(), rows.size()); !stepped)
      return stepped;
    // Search the max for each sequence, as generation does.
    for (size_t i = 0; i < rows.size(); ++i)
      next[i] = largest(logits.data() + i * width, width) % vocabulary;
    if (Result<void> kept = keepTimes(session.get()); !kept)
      return kept;
  }
  return {};
}

Result<double> StepRunner::run() {
  TRANSOM_TRY(goBack());
  for (int64_t &token : next)
    token = random();
  forgetTimes();
  const auto start = std::chrono::steady_clock::now();
  Result<void> done =
      decodes ? decodeOnce()
              : append(0, prompt.data(), static_cast<int64_t>(prompt.size()));
  const std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - start;
  if (!done)
    return done.takeError();
  return took.count();
}

Result<std::unique_ptr<Runner>>
DecoderWork::runner(const BenchModel &bench,
                    const MeasureOptions &options) const {
  auto runner = std::make_unique<StepRunner>(options, sequences, depth, tokens);
  TRANSOM_TRY(runner->prepare(bench, decodes));
  return std::unique_ptr<Runner>(std::move(runner));
}
