// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom bench: the time of an entry point beside what the machine could do at
// most, which is measured between the runs; against another artifact; and where
// the time goes.
#include "runtime/support/File.h"
#include "tools/commands/BenchReport.h"
#include "tools/commands/Command.h"
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cmath>

using namespace transom;
using namespace transom::tools;

namespace {
struct BenchFlags {
  std::string model, entry, texts, compare, trace, format = "md";
  std::vector<std::string> in;
  std::vector<int64_t> batches{1}, lengths;
  bool oneByOne = false, profile = false;
  unsigned warmups = 1, repeat = 5;
};
} // namespace

/// The lengths to time: by default 128, or what the model allows.
static std::vector<int64_t> lengthsOf(const BenchModel &bench,
                                      const BenchFlags &flags) {
  if (!flags.lengths.empty())
    return flags.lengths;
  int64_t length = 128;
  for (const ManifestSymbol &symbol : bench.manifest.symbols)
    length = std::min(length, symbol.max.value_or(length));
  return {length};
}

/// What is timed, a line of the table each.
static Result<std::vector<Workload>> workloadsOf(const BenchModel &bench,
                                                 const BenchFlags &flags) {
  std::vector<Workload> works;
  auto add = [&](Result<Workload> work) -> Result<void> {
    if (work && flags.oneByOne)
      work = Workload::oneByOne(bench, std::move(*work));
    if (!work)
      return work.takeError();
    works.push_back(std::move(*work));
    return {};
  };
  Result<void> done;
  if (!flags.in.empty())
    done = add(Workload::read(bench, flags.in));
  else if (!flags.texts.empty())
    done = add(Workload::tokenize(bench, flags.texts));
  else
    for (int64_t batch : flags.batches)
      for (int64_t length : lengthsOf(bench, flags))
        if (done)
          done = add(Workload::make(bench, batch, length));
  if (!done)
    return done.takeError();
  return Result<std::vector<Workload>>(std::move(works));
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
  text += ", " + giga(limits.bandwidth) + " GB/s";
  if (!bench.entry->walk.empty())
    text += "; " + std::to_string(bench.entry->walk.size()) +
            " steps a call, a barrier after each";
  note(common, text);
}

static Result<void> writeTrace(const std::string &path,
                               const std::string &text) {
  FILE *file = fopen(path.c_str(), "wbe");
  if (!file)
    return systemError("cannot write", path, errno);
  const bool written = fwrite(text.data(), 1, text.size(), file) == text.size();
  if (fclose(file) != 0 || !written)
    return systemError("cannot write", path, errno);
  return {};
}

static Result<void> checkFlags(const BenchFlags &flags) {
  if (!flags.in.empty() && !flags.texts.empty())
    return usageError("'--in' and '--texts' exclude each other");
  return {};
}

static Result<void> runBench(const BenchFlags &flags,
                             const CommonFlags &common) {
  if (Result<void> valid = checkFlags(flags); !valid)
    return valid;
  Result<BenchModel> bench =
      BenchModel::load(flags.model, flags.entry, common.threads);
  if (!bench)
    return bench.takeError();
  std::optional<BenchModel> other;
  if (!flags.compare.empty()) {
    Result<BenchModel> loaded =
        BenchModel::load(flags.compare, bench->entry->name, common.threads);
    if (!loaded)
      return loaded.takeError();
    other = std::move(*loaded);
  }
  Result<std::vector<Workload>> works = workloadsOf(*bench, flags);
  if (!works)
    return works.takeError();
  MeasureOptions options;
  options.warmups = flags.warmups;
  options.repeat = flags.repeat;
  options.profile = flags.profile;
  options.trace = !flags.trace.empty();
  LimitMeter meter(bench->isa, bench->threads);
  BenchTable table;
  for (const Workload &work : *works) {
    Result<BenchRow> row =
        measure(*bench, other ? &*other : nullptr, work, options, meter);
    if (!row)
      return row.takeError();
    table.rows.push_back(std::move(*row));
  }
  meter.settle();
  for (size_t i = 0; i < table.rows.size(); ++i) {
    applyLimits(table.rows[i], *bench, (*works)[i], meter.best());
    table.profiles.emplace_back();
    if (flags.profile)
      table.profiles.back() =
          profileOf(table.rows[i], *bench, (*works)[i], meter.best());
  }
  if (!flags.trace.empty())
    if (Result<void> written =
            writeTrace(flags.trace, traceOf(table.rows.back(), *bench));
        !written)
      return written;
  noteLimits(common, *bench, meter.best());
  if (common.json || flags.format == "json")
    return writeOut(table.json());
  return writeOut(flags.format == "md" ? table.markdown() : table.csv());
}

static void addInputFlags(CLI::App &app, BenchFlags &flags) {
  const CLI::Range size(int64_t(1), int64_t(1) << 30);
  app.add_option("-b,--batch", flags.batches, "batch sizes (default 1)")
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
  CLI::App &flagsOf = *command.app;
  flagsOf.add_option("MODEL", flags->model, "a compiled model")->required();
  flagsOf.add_option("--entry", flags->entry,
                     "the entry point (default: the first)");
  addInputFlags(flagsOf, *flags);
  const CLI::Range count(1u, 1000000u);
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
