// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limit assumes the min run count: one encoder run, one run that fills the
// source cache, and one step per new token with all sequences.
#include "tools/commands/bench/BenchTranslate.h"
#include "runtime/base/File.h"
#include "runtime/generate/Shortlist.h"
#include "tools/commands/bench/BenchDecode.h"
#include "tools/commands/bench/BenchMeasure.h"
#include <algorithm>
#include <chrono>
#include <random>
#include <set>

using namespace transom;
using namespace transom::tools;

TranslateWork TranslateWork::make(const BenchModel &bench, int64_t batch,
                                  int64_t length, Targets targets) {
  const int64_t vocabulary =
      std::max<int64_t>(1, bench.manifest.decoder->vocabulary);
  std::minstd_rand random(11);
  TranslateWork work;
  work.targets = targets;
  work.sources.resize(static_cast<size_t>(batch));
  for (std::vector<int64_t> &source : work.sources)
    for (int64_t i = 0; i < length; ++i)
      source.push_back(static_cast<int64_t>(random()) % vocabulary);
  return work;
}

Result<TranslateWork> TranslateWork::read(const std::string &file,
                                          Targets targets) {
  TRANSOM_ASSIGN(InputTensors inputs, InputTensors::read(file));
  const transom_tensor *ids = nullptr, *mask = nullptr;
  for (const transom_tensor &tensor : inputs.tensors()) {
    if (std::string_view("input_ids") == tensor.name)
      ids = &tensor;
    if (std::string_view("attention_mask") == tensor.name)
      mask = &tensor;
  }
  auto isMatrix = [&](const transom_tensor &tensor) {
    return tensor.dtype == TRANSOM_DTYPE_I64 && tensor.rank == 2 &&
           std::equal(tensor.shape, tensor.shape + 2, ids->shape);
  };
  if (!ids || !isMatrix(*ids) || (mask && !isMatrix(*mask)))
    return rejected(file + ": needs 'input_ids', and 'attention_mask' of the "
                           "same shape if it has one, as I64 [batch, seq]");
  TranslateWork work;
  work.targets = targets;
  work.sources.resize(static_cast<size_t>(ids->shape[0]));
  for (int64_t i = 0; i != ids->shape[0] * ids->shape[1]; ++i)
    if (!mask || static_cast<const int64_t *>(mask->data)[i])
      work.sources[static_cast<size_t>(i / ids->shape[1])].push_back(
          static_cast<const int64_t *>(ids->data)[i]);
  return work;
}

Result<void> TranslateWork::countListed(const std::string &artifact,
                                        const Manifest &manifest) {
  if (!manifest.tokenizer)
    return {};
  TRANSOM_ASSIGN(MappedFile file, MappedFile::open(artifact));
  TRANSOM_ASSIGN(Tokenizer tokenizer,
                 Tokenizer::open(file.bytes().substr(
                     manifest.tokenizer->offset, manifest.tokenizer->bytes)));
  TRANSOM_ASSIGN(std::optional<Shortlist> list, Shortlist::open(tokenizer));
  std::set<int64_t> all;
  for (const std::vector<int64_t> &source : sources)
    if (list)
      for (int64_t token :
           list->getTokens(source, manifest.decoder->vocabulary))
        all.insert(token);
  numListed = static_cast<int64_t>(all.size());
  return {};
}

void TranslateWork::describe(BenchRow &row) const { row.entry = "translate"; }

int64_t TranslateWork::countTokens() const {
  int64_t count = 0;
  for (const std::vector<int64_t> &source : sources)
    count += static_cast<int64_t>(source.size());
  return count;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Returns the run for an entry with inputs [batch, columns, ...], with the
/// source mask.
static BenchRun getRun(const BenchModel &bench, const ManifestEntry &entry,
                       const std::vector<std::vector<int64_t>> &sources) {
  size_t columns = 0;
  for (const std::vector<int64_t> &source : sources)
    columns = std::max(columns, source.size());
  std::vector<int64_t> mask(sources.size() * columns);
  for (size_t i = 0; i != sources.size(); ++i)
    std::fill_n(mask.begin() + static_cast<ptrdiff_t>(i * columns),
                sources[i].size(), 1);
  BenchCall call;
  for (const ManifestTensor &input : entry.inputs) {
    transom_tensor tensor = {};
    tensor.name = input.name.c_str();
    tensor.dtype = TRANSOM_DTYPE_I64;
    tensor.rank = 2;
    tensor.shape[0] = static_cast<int64_t>(sources.size());
    tensor.shape[1] = static_cast<int64_t>(columns);
    tensor.data = mask.data();
    call.inputs.push_back(tensor);
  }
  const SymbolValues symbols = getSymbols(bench, entry, call);
  return {symbols, getCost(bench, entry, symbols)};
}

/// Counts only the selected columns in a step. If all columns are selected,
/// they cost the same as the head.
void TranslateWork::listColumns(const BenchModel &bench, SymbolValues symbols,
                                BenchCost &cost) const {
  const ManifestEntry &step = *bench.entry;
  if (numListed == 0 || step.inputs.size() != 3)
    return;
  const std::string listed = step.inputs[2].shape[0].str();
  const ManifestSymbol *symbol = bench.manifest.findSymbol(listed);
  if (!symbol || numListed > symbol->max.value_or(0))
    return;
  auto getDifference = [&](const Polynomial &formula) {
    symbols[listed] = numListed;
    const double some = getValue(formula, symbols);
    symbols[listed] = step.outputs[0].shape[1].constant().value_or(0);
    return some - getValue(formula, symbols);
  };
  cost.flops += getDifference(step.flops);
  cost.bf16Flops += getDifference(step.bf16Flops);
  cost.int8Flops += getDifference(step.int8Flops);
  // Without logits rows only the column bytes remain.
  symbols[step.inputs[1].shape[0].str()] = 0;
  for (const ManifestDispatch &dispatch : step.dispatches)
    cost.bytes += getDifference(dispatch.bytes);
}

std::vector<BenchRun> TranslateWork::runs(const BenchModel &bench) const {
  std::vector<BenchRun> runs;
  for (EntryKind kind : {EntryKind::Encode, EntryKind::Source})
    runs.push_back(getRun(bench, *bench.manifest.findEntry(kind), sources));
  const auto count = static_cast<int64_t>(sources.size());
  for (int64_t i = 0; i < targets.tokens; ++i) {
    StepSizes sizes;
    // All beams for a source are equal before the first step.
    sizes.sequences = i ? count * targets.beams : count;
    sizes.past = i;
    sizes.cachedSourceTokens = countTokens();
    sizes.sourceTokens = (i ? targets.beams : 1) * sizes.cachedSourceTokens;
    const SymbolValues symbols = getSymbols(bench, sizes);
    BenchCost cost = getCost(bench, *bench.entry, symbols);
    listColumns(bench, symbols, cost);
    cost.bytes += cacheBytes(bench.manifest, sizes);
    cost.tokens = count;
    cost.rows = count;
    for (const std::vector<int64_t> &source : sources)
      cost.columns =
          std::max(cost.columns, static_cast<int64_t>(source.size()));
    runs.push_back({symbols, cost});
  }
  return runs;
}

//===----------------------------------------------------------------------===//
// Translations
//===----------------------------------------------------------------------===//

namespace {
/// An encoder-decoder with a session for one line.
class TranslateRunner : public Runner {
public:
  TranslateRunner(const MeasureOptions &options,
                  const std::vector<std::vector<int64_t>> &sources)
      : Runner(options) {
    for (const std::vector<int64_t> &source : sources) {
      transom_prompt prompt = {};
      prompt.ids = source.data();
      prompt.num_ids = source.size();
      prompts.push_back(prompt);
    }
  }

  Result<void> prepare(const BenchModel &bench,
                       const TranslateWork::Targets &targets);
  Result<double> run() override;

private:
  std::vector<transom_prompt> prompts;
  transom_generate_options how = transom_generate_options_default();
  SessionPtr session;
};
} // namespace

Result<void> TranslateRunner::prepare(const BenchModel &bench,
                                      const TranslateWork::Targets &targets) {
  how.min_new_tokens = how.max_new_tokens = targets.tokens;
  how.num_beams = targets.beams;
  how.num_return_sequences = 1;
  how.sample = 0;
  transom_session_options sizes = transom_session_options_default();
  sizes.threads = bench.threads;
  std::vector<size_t> lengths;
  for (const transom_prompt &prompt : prompts)
    lengths.push_back(prompt.num_ids);
  TRANSOM_TRY(check(transom_session_options_fit_generate(
      bench.model.get(), lengths.data(), lengths.size(), &how, &sizes)));
  TRANSOM_ASSIGN(session, createSession(bench.model.get(), sizes));
  return {};
}

Result<double> TranslateRunner::run() {
  transom_generation *generation = nullptr;
  const auto start = std::chrono::steady_clock::now();
  const transom_status status = transom_session_generate(
      session.get(), prompts.data(), prompts.size(), &how, &generation);
  const std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - start;
  transom_generation_free(generation);
  TRANSOM_TRY(check(status));
  return took.count();
}

Result<std::unique_ptr<Runner>>
TranslateWork::runner(const BenchModel &bench,
                      const MeasureOptions &options) const {
  auto runner = std::make_unique<TranslateRunner>(options, sources);
  TRANSOM_TRY(runner->prepare(bench, targets));
  return std::unique_ptr<Runner>(std::move(runner));
}
