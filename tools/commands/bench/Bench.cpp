// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom bench: times an entry point, or a decoder's prompts and new tokens,
// against the host's limits, which are measured between the runs, or against
// another artifact; with a profile or a trace on request.
#include "runtime/base/OutputFile.h"
#include "tools/commands/Command.h"
#include "tools/commands/bench/BenchDecode.h"
#include "tools/commands/bench/BenchReport.h"
#include "tools/commands/bench/BenchTrace.h"
#include "tools/commands/bench/BenchTranslate.h"
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cmath>

using namespace transom;
using namespace transom::tools;

namespace {
struct BenchFlags {
  std::string model, entry, texts, compare, trace, format = "md";
  std::vector<std::string> in;
  std::vector<int64_t> batches{1}, lengths, prompts, news, depths;
  bool oneByOne = false, profile = false;
  int64_t beams = 1;
  unsigned warmups = 1, repeat = 5;
};
} // namespace

/// Returns the lengths to time: by default 128, or less if the model limits it.
static std::vector<int64_t> getLengths(const BenchModel &bench,
                                       const BenchFlags &flags) {
  if (!flags.lengths.empty())
    return flags.lengths;
  int64_t length = 128;
  for (const ManifestSymbol &symbol : bench.manifest.symbols)
    length = std::min(length, symbol.max.value_or(length));
  return {length};
}

using Works = std::vector<std::unique_ptr<BenchWork>>;

/// Adds lines for entries that are called on tensors.
static Result<void> addCalls(const BenchModel &bench, const BenchFlags &flags,
                             Works &works) {
  auto add = [&](Result<Workload> work) -> Result<void> {
    if (work && flags.oneByOne)
      work = Workload::oneByOne(bench, std::move(*work));
    if (!work)
      return work.takeError();
    works.push_back(std::make_unique<Workload>(std::move(*work)));
    return {};
  };
  if (!flags.in.empty())
    return add(Workload::read(bench, flags.in));
  if (!flags.texts.empty())
    return add(Workload::tokenize(bench, flags.texts));
  for (int64_t batch : flags.batches)
    for (int64_t length : getLengths(bench, flags))
      if (Result<void> done = add(Workload::make(bench, batch, length)); !done)
        return done;
  return {};
}

/// Adds lines for a decoder: each prompt, then each combination of new tokens,
/// depth and sequence count.
static void addSteps(const BenchModel &bench, const BenchFlags &flags,
                     Works &works) {
  auto add = [&](DecoderWork work) {
    works.push_back(std::make_unique<DecoderWork>(std::move(work)));
  };
  std::vector<int64_t> prompts = flags.prompts, news = flags.news;
  const int64_t context =
      bench.manifest.decoder->context.value_or(int64_t(1) << 30);
  if (prompts.empty() && news.empty() && flags.depths.empty())
    prompts = {std::min<int64_t>(512, context)};
  if (news.empty() && flags.prompts.empty())
    news = {std::min<int64_t>(128, context)};
  for (int64_t prompt : prompts)
    add(DecoderWork::prefill(prompt));
  const std::vector<int64_t> depths =
      flags.depths.empty() ? std::vector<int64_t>{0} : flags.depths;
  for (int64_t batch : flags.batches)
    for (int64_t depth : depths)
      for (int64_t tokens : news)
        add(DecoderWork::decode(batch, depth, tokens));
}

/// Returns true if the work is translation: an encoder-decoder, unless
/// '--entry' names another entry.
static bool translates(const BenchModel &bench) {
  return bench.entry->kind == EntryKind::Step &&
         bench.manifest.findEntry(EntryKind::Source);
}

/// Adds lines for an encoder-decoder.
static Result<void> addTranslations(const BenchModel &bench,
                                    const BenchFlags &flags, Works &works) {
  const std::vector<int64_t> news =
      flags.news.empty() ? std::vector<int64_t>{32} : flags.news;
  for (int64_t tokens : news) {
    const TranslateWork::Targets targets{tokens, flags.beams};
    for (const std::string &file : flags.in) {
      TRANSOM_ASSIGN(TranslateWork work, TranslateWork::read(file, targets));
      TRANSOM_TRY(work.countListed(flags.model, bench.manifest));
      works.push_back(std::make_unique<TranslateWork>(std::move(work)));
    }
    if (flags.in.empty())
      for (int64_t batch : flags.batches)
        for (int64_t length : getLengths(bench, flags)) {
          auto work = std::make_unique<TranslateWork>(
              TranslateWork::make(bench, batch, length, targets));
          TRANSOM_TRY(work->countListed(flags.model, bench.manifest));
          works.push_back(std::move(work));
        }
  }
  return {};
}

/// Returns the work to time, one item per table line.
static Result<Works> getWorks(const BenchModel &bench,
                              const BenchFlags &flags) {
  Works works;
  const bool steps =
      !flags.prompts.empty() || !flags.news.empty() || !flags.depths.empty();
  // Encoder-decoders translate.
  if (translates(bench)) {
    if (!flags.texts.empty() || !flags.prompts.empty() ||
        !flags.depths.empty() || flags.oneByOne || flags.profile ||
        !flags.trace.empty())
      return usageError("'--texts', '--one-by-one', '--prompt-tokens', "
                        "'--depth', '--profile' and '--trace' of an "
                        "encoder-decoder need '--entry'; supported: '--batch' "
                        "and '--seq' of sources, or '--in'");
    TRANSOM_TRY(addTranslations(bench, flags, works));
    return Result<Works>(std::move(works));
  }
  if (flags.beams > 1)
    return usageError("'--num-beams' is for encoder-decoders, without "
                      "'--entry'");
  // Decoders run prompts and new tokens.
  if (bench.entry->kind == EntryKind::Step && bench.manifest.decoder) {
    if (!flags.in.empty() || !flags.texts.empty() || !flags.lengths.empty())
      return usageError("'--seq', '--in' and '--texts' need '--entry' of a "
                        "decoder: logits, score or generate");
    addSteps(bench, flags, works);
    return Result<Works>(std::move(works));
  }
  // All other entries are called on tensors.
  if (steps)
    return usageError("'--prompt-tokens', '--new-tokens' and '--depth' are for "
                      "decoders, without '--entry'");
  TRANSOM_TRY(addCalls(bench, flags, works));
  return Result<Works>(std::move(works));
}

static void noteLimits(const CommonFlags &common, const BenchModel &bench,
                       const MachineLimits &limits) {
  auto giga = [](double value) {
    return std::to_string(std::lround(value * 1e-9));
  };
  std::string text = bench.isa + ", " + std::to_string(bench.threads) +
                     " threads; limits " + giga(limits.flops) + " GFLOP/s";
  if (bench.manifest.dtype == "bf16")
    text += ", " + giga(limits.bf16Flops) + " in bf16";
  if (!(bench.entry->int8Flops == Polynomial()))
    text += ", " + giga(limits.int8Flops) + " in int8";
  text += ", " + giga(limits.bandwidth) + " GB/s";
  if (!bench.entry->dispatchOrder.empty())
    text += "; " + std::to_string(bench.entry->dispatchOrder.size()) +
            (bench.entry->kind == EntryKind::Step ? " dispatches a token"
                                                  : " dispatches a call") +
            ", a barrier after each";
  const int64_t barriers = bench.entry->getMinBarriers();
  if (size_t(barriers) != bench.entry->dispatchOrder.size())
    text += " (" + std::to_string(barriers) + " of one short sequence)";
  note(common, text);
}

/// Prints a note if calls were faster than the limits allow.
static void noteBusyMachine(const CommonFlags &common,
                            const std::vector<BenchRow> &rows) {
  constexpr double tolerance = 1.1;
  for (const BenchRow &row : rows)
    if (row.limitMs > tolerance * row.times.min)
      return note(common, "calls are faster than the measured limits allow: "
                          "other programs took the machine while the limits "
                          "were measured; repeat on an idle machine");
}

static Result<void> checkFlags(const BenchFlags &flags) {
  if (!flags.in.empty() && !flags.texts.empty())
    return usageError("'--in' and '--texts' exclude each other");
  return {};
}

/// Loads the artifact that alternates with the first one, if given.
static Result<std::optional<BenchModel>>
loadOther(const BenchFlags &flags, const BenchModel &bench, unsigned threads) {
  using Optional = std::optional<BenchModel>;
  if (flags.compare.empty())
    return Optional();
  const bool steps = bench.entry->kind == EntryKind::Step;
  TRANSOM_ASSIGN(
      BenchModel loaded,
      BenchModel::load(flags.compare, steps ? "" : bench.entry->name, threads));
  if (loaded.entry->name != bench.entry->name)
    return usageError("'" + flags.compare + "' is not a decoder");
  if (translates(loaded) != translates(bench))
    return usageError("one of '" + flags.model + "' and '" + flags.compare +
                      "' is an encoder-decoder, the other one is not");
  return Result<Optional>(Optional(std::move(loaded)));
}

/// Returns the max bytes that a call streams.
static int64_t getLargestRead(const BenchModel &bench, const Works &works) {
  double largest = 0;
  for (const auto &work : works)
    for (const BenchRun &run : work->runs(bench))
      largest = std::max(largest, run.cost.bytes);
  return static_cast<int64_t>(largest);
}

/// Measures all lines, then applies the host's limits.
static Result<BenchTable>
measureAll(const BenchModel &bench, const BenchModel *other, const Works &works,
           const MeasureOptions &options, LimitMeter &meter) {
  BenchTable table;
  for (const auto &work : works) {
    TRANSOM_ASSIGN(BenchRow row, measure(bench, other, *work, options, meter));
    table.rows.push_back(std::move(row));
  }
  meter.finish();
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const std::vector<BenchRun> runs = works[i]->runs(bench);
    applyLimits(table.rows[i], runs, bench.entry->dispatchOrder.size(),
                meter.best());
    table.profiles.emplace_back();
    if (options.profile)
      table.profiles.back() =
          getProfile(table.rows[i], bench, runs, meter.best());
  }
  return Result<BenchTable>(std::move(table));
}

static Result<void> runBench(const BenchFlags &flags,
                             const CommonFlags &common) {
  // Load the artifacts and select the work.
  if (Result<void> valid = checkFlags(flags); !valid)
    return valid;
  TRANSOM_ASSIGN(BenchModel bench,
                 BenchModel::load(flags.model, flags.entry, common.threads));
  TRANSOM_ASSIGN(std::optional<BenchModel> other,
                 loadOther(flags, bench, common.threads));
  TRANSOM_ASSIGN(Works works, getWorks(bench, flags));
  // Create the trace file before measuring, so that errors appear early.
  MeasureOptions options;
  options.warmups = flags.warmups;
  options.repeat = flags.repeat;
  options.profile = flags.profile;
  options.trace = !flags.trace.empty();
  OutputFile trace;
  if (options.trace) {
    TRANSOM_ASSIGN(trace, OutputFile::create(flags.trace));
  }
  // Measure, then write the trace and the table.
  LimitMeter meter(bench.isa, bench.threads, getLargestRead(bench, works));
  TRANSOM_ASSIGN(BenchTable table, measureAll(bench, other ? &*other : nullptr,
                                              works, options, meter));
  if (options.trace) {
    TRANSOM_TRY(trace.append(
        getTrace(table.rows.back(), bench, works.back()->runs(bench))));
    TRANSOM_TRY(trace.commit());
  }
  noteLimits(common, bench, meter.best());
  noteBusyMachine(common, table.rows);
  if (common.json || flags.format == "json")
    return writeOut(table.json());
  return writeOut(flags.format == "md" ? table.markdown() : table.csv());
}

static void addStepFlags(CLI::App &app, BenchFlags &flags) {
  const CLI::Validator size = wholeNumber(1, uint64_t(1) << 30);
  auto add = [&](const char *names, std::vector<int64_t> &to, const char *help,
                 const CLI::Validator &range) {
    app.add_option(names, to, help)
        ->type_name("N,N..")
        ->delimiter(',')
        ->check(range);
  };
  add("-p,--prompt-tokens", flags.prompts,
      "of a decoder: lengths of prompts, from an empty cache (default 512)",
      size);
  add("-n,--new-tokens", flags.news,
      "of a decoder: new tokens of each sequence (default 128, of an "
      "encoder-decoder 32)",
      size);
  add("-d,--depth", flags.depths,
      "of a decoder: positions before the new tokens (default 0)",
      wholeNumber(0, uint64_t(1) << 30));
  app.add_option("--num-beams", flags.beams,
                 "of an encoder-decoder: beams (default 1: greedy)")
      ->type_name("N")
      ->check(size);
}

static void addInputFlags(CLI::App &app, BenchFlags &flags) {
  const CLI::Validator size = wholeNumber(1, uint64_t(1) << 30);
  app.add_option("-b,--batch", flags.batches,
                 "batch sizes, of a decoder sequences that get tokens "
                 "together (default 1)")
      ->type_name("N,N..")
      ->delimiter(',')
      ->check(size);
  app.add_option("-s,--seq", flags.lengths,
                 "lengths (default 128, or the model's maximum)")
      ->type_name("N,N..")
      ->delimiter(',')
      ->check(size);
  app.add_option("--in", flags.in,
                 "time these inputs instead (safetensors); several are "
                 "calls one after another")
      ->type_name("FILE..");
  app.add_option("--texts", flags.texts,
                 "time the lines of this file instead, as one call")
      ->type_name("FILE");
  app.add_flag("--one-by-one", flags.oneByOne,
               "a call for each sequence, without its padding");
}

void tools::addBench(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(app, commands, "bench",
                                "time an entry against the machine's limits");
  auto flags = std::make_shared<BenchFlags>();
  // Entry and sizes.
  CLI::App &flagsOf = *command.app;
  flagsOf.add_option("MODEL", flags->model, "a compiled model")->required();
  flagsOf.add_option("--entry", flags->entry,
                     "the entry point (default: the first, of a decoder its "
                     "steps)");
  addInputFlags(flagsOf, *flags);
  addStepFlags(flagsOf, *flags);
  // Repetitions.
  const CLI::Validator count = wholeNumber(1, 1000000);
  flagsOf
      .add_option("-r,--repeat", flags->repeat,
                  "repetitions that are timed (default 5)")
      ->type_name("N")
      ->check(count);
  flagsOf
      .add_option("--warmup", flags->warmups,
                  "repetitions before them (default 1)")
      ->type_name("N")
      ->check(count);
  // Comparison, profile and output format.
  flagsOf
      .add_option("--compare", flags->compare,
                  "another artifact, which takes turns with MODEL; 'ratio' is "
                  "its time over MODEL's")
      ->type_name("SO");
  flagsOf.add_flag("--profile", flags->profile,
                   "where the time of the fastest repetition went");
  flagsOf
      .add_option("--trace", flags->trace,
                  "write the last call as a trace for Chrome's viewer")
      ->type_name("FILE");
  addChoice(flagsOf, "--format", flags->format, {"md", "json", "csv"},
            "form of the table (default md)");
  command.run = [flags](const CommonFlags &common) {
    return runBench(*flags, common);
  };
}
