// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The result length is known only after generation, so the capacity is checked
// for the maximum.
#include "runtime/session/Generate.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Suggest.h"
#include "runtime/execute/Tensor.h"
#include <algorithm>
#include <cmath>
#include <functional>

using namespace transom;

Result<DecoderSource> DecoderSource::create(Session &session) {
  if (!session.decoder() || !session.model().findEntry(EntryKind::Generate))
    return unsupported("the model does not generate; its head is '" +
                       session.model().manifest().head + "'");
  DecoderSource source(*session.decoder(), session.executor());
  // Encoder and decoder vocabularies may differ.
  const std::string &encoder = session.model().manifest().decoder->encoder;
  if (encoder.empty())
    return source;
  TRANSOM_ASSIGN(const Entry *entry,
                 findEntry(session.model(), encoder.c_str()));
  for (const Argument &input : entry->inputs)
    if (input.role == Role::Ids)
      source.sourceIds = input.bound.value_or(INT64_MAX);
  return source;
}

Result<void> DecoderSource::addSources(const SourceTokens *given, size_t count,
                                       int32_t *sequences) {
  sources.clear();
  for (size_t i = 0; i != count; ++i)
    sources.push_back({given[i].ids, given[i].mask, given[i].count});
  return decoder->addSources(sources.data(), count, sequences);
}

void DecoderSource::setSteps(const NewTokens *inputs, size_t count) {
  steps.clear();
  for (size_t i = 0; i != count; ++i)
    steps.push_back({inputs[i].sequence, inputs[i].tokens, inputs[i].count,
                     inputs[i].numLogits});
}

Result<const float *> DecoderSource::step(const NewTokens *inputs,
                                          size_t count) {
  setSteps(inputs, count);
  return decoder->step(steps.data(), steps.size());
}

Result<LogitRows> DecoderSource::stepSummarized(const NewTokens *inputs,
                                                size_t count, bool needsSums) {
  setSteps(inputs, count);
  TRANSOM_ASSIGN(StepLogits out,
                 decoder->step(steps.data(), steps.size(),
                               needsSums ? LogitSummary::MaximaAndSums
                                         : LogitSummary::Maxima));
  return LogitRows{out.logits, out.maxima, out.sums};
}

Result<const float *>
DecoderSource::stepListed(const NewTokens *inputs, size_t count,
                          const std::vector<int64_t> &tokens) {
  setSteps(inputs, count);
  return decoder->stepListed(steps.data(), steps.size(),
                             {tokens.data(), int64_t(tokens.size())});
}

Result<GenerationConfig> transom::getGenerationConfig(const Model &model) {
  const auto &decoder = model.manifest().decoder;
  if (!decoder || !model.findEntry(EntryKind::Generate))
    return unsupported("the model does not generate; its head is '" +
                       model.manifest().head + "'");
  return GenerationConfig::parse(decoder->generation);
}

namespace {
/// The entry's inputs, checked and bound.
struct BoundPrompts {
  explicit BoundPrompts(const Entry &entry)
      : symbols(entry.symbols.size()),
        tensors(entry.inputs.size() + entry.outputs.size()),
        shapes(tensors.size()),
        call(entry, {symbols.data(), tensors.data(), shapes.data()}) {}
  int64_t batch() const { return call.inputShape(0).dims[0]; }
  int64_t columns() const { return call.inputShape(0).dims[1]; }

  std::vector<int64_t> symbols;
  std::vector<const transom_tensor *> tensors;
  std::vector<ShapeValue> shapes;
  Call call;
};
} // namespace

Result<std::optional<Shortlist>> transom::getShortlist(const Model &model) {
  if (!model.tokenizer())
    return std::optional<Shortlist>();
  return Shortlist::open(*model.tokenizer());
}

Result<GenerationPrompts> transom::getPrompts(const Model &model,
                                              const transom_tensor *inputs,
                                              size_t count) {
  const Entry *entry = model.findEntry(EntryKind::Generate);
  if (!entry)
    return usageError("the model has no entry of the kind 'generate'");
  // Bind the inputs, and copy them to dense arrays.
  BoundPrompts bound(*entry);
  TRANSOM_TRY(bound.call.bindInputs(inputs, count, true));
  const size_t columns = size_t(bound.columns());
  const int64_t shape[2] = {bound.batch(), bound.columns()};
  std::vector<int64_t> ids(size_t(bound.batch()) * columns);
  std::vector<int64_t> mask(ids.size(), 1);
  stageInput(*bound.call.input(0), shape, 2, ids.data());
  if (const transom_tensor *given = bound.call.input(1)) {
    stageInput(*given, shape, 2, mask.data());
    TRANSOM_TRY(checkValues(entry->inputs[1], mask.data(), shape, 2));
  }
  // Collect each row's tokens; sources keep padding, with a mask.
  GenerationPrompts prompts;
  TRANSOM_ASSIGN(prompts.shortlist, getShortlist(model));
  prompts.ids.resize(size_t(bound.batch()));
  const bool hasSources = !model.manifest().decoder->encoder.empty();
  if (hasSources)
    prompts.masks.resize(prompts.ids.size());
  for (size_t i = 0; i != ids.size(); ++i) {
    if (mask[i] || hasSources)
      prompts.ids[i / columns].push_back(ids[i]);
    if (hasSources)
      prompts.masks[i / columns].push_back(mask[i]);
  }
  return prompts;
}

void transom::fitGeneration(const Model &model, const GenerationConfig &config,
                            const std::vector<size_t> &promptLengths,
                            size_t longestPrefix, Capacity &capacity) {
  constexpr int64_t stepTokens = 1024;
  const int64_t together = std::max<int64_t>(16, capacity.maxSequences);
  constexpr size_t longestPrompt = INT32_MAX; // upper bound for sequence
                                              // lengths
  const std::optional<int64_t> context = model.manifest().decoder->context;
  // A prompt's continuations can wait for each other, but beams cannot.
  const int64_t each = config.getSequences();
  const int64_t rows = int64_t(promptLengths.size()) * each;
  const int64_t sequences = std::clamp<int64_t>(
      rows, 1, config.numBeams > 1 ? std::max(each, together) : together);
  GenerationConfig fitting = config;
  fitting.numReturnSequences = std::min(config.numReturnSequences, sequences);
  // An encoder-decoder's prompts are sources; its decoder begins with the start
  // token and a prefix.
  const int64_t target = 1 + int64_t(std::min(longestPrefix, longestPrompt));
  const bool hasSources = !model.manifest().decoder->encoder.empty();
  // Compute the cache sizes for each prompt.
  std::vector<int64_t> positions, sources;
  int64_t tokens = 0, longest = 0;
  for (size_t given : promptLengths) {
    const int64_t length = int64_t(std::min(given, longestPrompt));
    positions.push_back(
        positionsFor(fitting, hasSources ? target : length, context));
    sources.push_back(alignToKvBlock(length));
    tokens += length;
    longest = std::max(longest, length);
  }
  // Add up the largest ones that run together.
  std::sort(positions.begin(), positions.end(), std::greater<int64_t>());
  std::sort(sources.begin(), sources.end(), std::greater<int64_t>());
  const int64_t prompts = std::max<int64_t>(
      1, (sequences + fitting.getSequences() - 1) / fitting.getSequences());
  int64_t kept = 0, sourceTokens = 0;
  for (size_t i = 0; i != positions.size() && int64_t(i) != prompts; ++i) {
    kept += positions[i];
    sourceTokens += sources[i];
  }
  // Raise the capacity.
  capacity.maxSequences = std::max(capacity.maxSequences, sequences);
  capacity.maxKvTokens = std::max(capacity.maxKvTokens, kept);
  capacity.maxBatch = std::max(capacity.maxBatch, sequences);
  capacity.maxTokens =
      std::max({capacity.maxTokens, std::min(stepTokens, tokens), sequences});
  if (!hasSources)
    return;
  // One run computes a whole source.
  capacity.maxTokens = std::max(capacity.maxTokens, longest);
  capacity.maxSourceTokens = std::max(capacity.maxSourceTokens, sourceTokens);
}

static int64_t getLongest(const std::vector<Continuation> &rows) {
  size_t longest = 0;
  for (const Continuation &row : rows)
    longest = std::max(longest, row.tokens.size());
  return int64_t(longest);
}

static void describeOutput(int64_t rows, int64_t columns, transom_tensor &out) {
  out.dtype = TRANSOM_DTYPE_I64;
  out.rank = 2;
  out.shape[0] = rows;
  out.shape[1] = columns;
}

/// Returns an error if a result does not fit; then sets the needed capacity.
static Result<void> checkFits(const char *name, size_t needed,
                              transom_tensor &out) {
  if (needed == 0 || (out.data && out.capacity >= needed))
    return {};
  const size_t given = out.data ? out.capacity : 0;
  out.capacity = needed;
  return limitError("result '" + std::string(name) + "' needs " +
                    std::to_string(needed) + " bytes, room for " +
                    std::to_string(given) + " is given");
}

Result<void> transom::writeOutputIds(const std::vector<Continuation> &rows,
                                     int64_t fill, transom_tensor &out) {
  const int64_t columns = getLongest(rows);
  const size_t needed = rows.size() * size_t(columns) * sizeof(int64_t);
  describeOutput(int64_t(rows.size()), columns, out);
  TRANSOM_TRY(checkFits("output_ids", needed, out));
  auto ids = static_cast<int64_t *>(out.data);
  for (const Continuation &row : rows) {
    ids = std::copy(row.tokens.begin(), row.tokens.end(), ids);
    ids = std::fill_n(ids, size_t(columns) - row.tokens.size(), fill);
  }
  return {};
}

/// Returns the error for scores after greedy search or sampling.
static Error noScores() {
  return usageError("there are no scores without beams; 'num_beams' is 1");
}

static void describeScores(int64_t rows, transom_tensor &out) {
  out.dtype = TRANSOM_DTYPE_F32;
  out.rank = 1;
  out.shape[0] = rows;
}

Result<void> transom::writeScores(const std::vector<Continuation> &rows,
                                  transom_tensor &out) {
  if (!rows.empty() && std::isnan(rows[0].score))
    return noScores();
  describeScores(int64_t(rows.size()), out);
  TRANSOM_TRY(checkFits("scores", rows.size() * sizeof(float), out));
  auto scores = static_cast<float *>(out.data);
  for (const Continuation &row : rows)
    *scores++ = float(row.score);
  return {};
}

/// Returns the resolved settings in the model's files.
static Result<GenerationConfig> getResolvedConfig(const Model &model) {
  Result<GenerationConfig> config = getGenerationConfig(model);
  if (config)
    TRANSOM_TRY(config->resolve());
  return config;
}

/// Returns the max column count for the result.
static int64_t mostColumns(const Model &model, const GenerationConfig &config) {
  int64_t most = config.mostNewTokens(0);
  if (auto context = model.manifest().decoder->context)
    most = std::min(most, *context);
  return std::max<int64_t>(0, most);
}

static Result<void> checkName(const Entry &entry, const char *name) {
  const std::string given = name ? name : "";
  if (entry.outputIndex(given.c_str()) >= 0)
    return {};
  return rejected("entry 'generate' has no result '" + given +
                  "'; it has: " + joinNames(entry.outputNames()) +
                  suggest(given, entry.outputNames()));
}

/// Describes an entry result with its max shape; the capacity is its byte
/// size.
static Result<void> describeResult(const Session &session, const Entry &entry,
                                   int64_t batch, const char *name,
                                   transom_tensor &result) {
  TRANSOM_ASSIGN(GenerationConfig config, getResolvedConfig(session.model()));
  TRANSOM_TRY(checkName(entry, name));
  const int64_t rows = batch * config.numReturnSequences;
  const int64_t columns = mostColumns(session.model(), config);
  if (std::string_view(name) == "scores") {
    if (config.numBeams <= 1)
      return noScores();
    describeScores(rows, result);
  } else {
    describeOutput(rows, columns, result);
  }
  CheckedSize bytes = getElementSize(result.dtype);
  for (int32_t i = 0; i != result.rank; ++i)
    bytes = bytes * CheckedSize::fromSigned(result.shape[i]);
  if (!bytes.signedValue())
    return rejected("the sizes of result '" + std::string(name) + "', " +
                    std::to_string(rows) + " rows of up to " +
                    std::to_string(columns) + " ids, are out of range");
  result.capacity = size_t(*bytes.signedValue());
  return {};
}

Result<void> transom::shapeGenerate(const Session &session, const Entry &entry,
                                    const transom_tensor *inputs,
                                    size_t inputCount, const char *name,
                                    transom_tensor &result) {
  BoundPrompts bound(entry);
  TRANSOM_TRY(bound.call.bindInputs(inputs, inputCount, false));
  return describeResult(session, entry, bound.batch(), name, result);
}

/// Checks the caller's tensor for a result before anything runs.
static Result<void> checkOutput(const Session &session, const Entry &entry,
                                int64_t batch, const transom_tensor &output) {
  transom_tensor largest = {};
  TRANSOM_TRY(describeResult(session, entry, batch, output.name, largest));
  const std::string name = "result '" + std::string(output.name) + "'";
  if (output.dtype != TRANSOM_DTYPE_NONE && output.dtype != largest.dtype)
    return rejected(name + " is " + std::string(dtypeText(largest.dtype)) +
                    ", got " + std::string(dtypeText(output.dtype)));
  if (std::any_of(output.strides, output.strides + largest.rank,
                  [](int64_t stride) { return stride != 0; }))
    return rejected(name + " is dense: its strides are 0");
  if (largest.capacity && !output.data)
    return usageError(name + " has no data: it is NULL");
  if (output.capacity < largest.capacity)
    return limitError(
        name + " needs up to " + std::to_string(largest.capacity) +
        " bytes, got a capacity of " + std::to_string(output.capacity));
  return {};
}

Result<void> transom::runGenerate(Session &session, const Entry &entry,
                                  const transom_tensor *inputs,
                                  size_t inputCount, transom_tensor *outputs,
                                  size_t outputCount) {
  const Model &model = session.model();
  TRANSOM_ASSIGN(GenerationConfig config, getResolvedConfig(model));
  TRANSOM_ASSIGN(GenerationPrompts prompts,
                 getPrompts(model, inputs, inputCount));
  for (size_t i = 0; i != outputCount; ++i)
    TRANSOM_TRY(
        checkOutput(session, entry, int64_t(prompts.ids.size()), outputs[i]));
  TRANSOM_ASSIGN(DecoderSource source, DecoderSource::create(session));
  std::vector<Continuation> rows;
  const bool texts = !config.stopStrings.empty();
  if (Result<void> done =
          generate(source, config, texts ? model.tokenizer() : nullptr, prompts,
                   nullptr, rows);
      !done)
    return done;
  for (transom_tensor *out = outputs; out != outputs + outputCount; ++out)
    TRANSOM_TRY(std::string_view(out->name) == "scores"
                    ? writeScores(rows, *out)
                    : writeOutputIds(rows, config.fillToken(), *out));
  return {};
}
