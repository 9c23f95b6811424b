// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom bench: the time of an entry point for batches and lengths, beside
// what the machine could do at most.
#include "runtime/Cpu.h"
#include "runtime/support/Json.h"
#include "tools/commands/Command.h"
#include "tools/commands/Limits.h"
#include "tools/commands/Tensors.h"
#include <CLI/Validators.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

using namespace transom;
using namespace transom::tools;

namespace {

struct BenchFlags {
  std::string model, entry, in, format = "md";
  std::vector<int64_t> batches{1}, lengths{128};
  unsigned repeat = 5;
};

/// One line of the table.
struct BenchRow {
  std::string entry;
  int64_t batch = 0, seq = 0, tokens = 0;
  double msMin = 0, msMedian = 0, flops = 0;
  double tokensPerSecond() const { return double(tokens) * 1e3 / msMin; }
};

/// Inputs made for one batch and length.
struct MadeInputs {
  std::vector<std::vector<char>> memory;
  std::vector<transom_tensor> tensors;
};

/// The model under test.
struct Bench {
  ModelPtr model;
  Manifest manifest;
  const ManifestEntry *entry = nullptr;
  unsigned threads = 1;
  MachineLimits limits;
};

} // namespace

/// What an entry's symbols are for a batch of full sequences.
static std::optional<int64_t> symbolOf(const ManifestEntry &entry,
                                       const std::string &name,
                                       const BenchRow &row, unsigned parts) {
  if (name == "parts")
    return parts;
  if (name == "batch")
    return row.batch;
  for (const ManifestSegments &segments : entry.segments) {
    if (name == segments.rows)
      return row.tokens;
    if (name == segments.keys)
      return row.batch * ((row.seq + 31) / 32 * 32);
  }
  return row.seq;
}

/// Fills a tensor: masks with ones, ids with some that are in range, data with
/// small numbers.
static void fill(const ManifestTensor &tensor, std::vector<char> &memory) {
  uint64_t random = 88172645463325252u;
  auto next = [&] {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
  };
  if (tensor.dtype == DType::I64)
    for (size_t i = 0; i < memory.size() / 8; ++i)
      reinterpret_cast<int64_t *>(memory.data())[i] =
          tensor.role == "mask"
              ? 1
              : static_cast<int64_t>(
                    next() % static_cast<uint64_t>(tensor.bound.value_or(2)));
  else if (tensor.dtype == DType::F32)
    for (size_t i = 0; i < memory.size() / 4; ++i)
      reinterpret_cast<float *>(memory.data())[i] =
          static_cast<float>(next() % 2001) * 1e-3f - 1;
  else if (tensor.dtype == DType::Bool)
    std::fill(memory.begin(), memory.end(), 1);
}

static Result<MadeInputs> makeInputs(const Bench &bench, const BenchRow &row) {
  MadeInputs made;
  for (const ManifestTensor &input : bench.entry->inputs) {
    transom_tensor tensor = {};
    tensor.name = input.name.c_str();
    tensor.dtype = publicType(input.dtype);
    int64_t elements = 1;
    for (const Polynomial &dim : input.shape) {
      Result<int64_t> size = dim.evaluate([&](const std::string &name) {
        return symbolOf(*bench.entry, name, row, bench.threads);
      });
      if (!size)
        return size.takeError();
      tensor.shape[tensor.rank++] = *size;
      if (__builtin_mul_overflow(elements, *size, &elements) ||
          elements > (int64_t(1) << 40))
        return limitError("input '" + input.name + "' is too large");
    }
    tensor.capacity =
        static_cast<size_t>(elements) * transom_dtype_size(tensor.dtype);
    made.memory.emplace_back(tensor.capacity);
    fill(input, made.memory.back());
    tensor.data = made.memory.back().data();
    made.tensors.push_back(tensor);
  }
  return made;
}

/// Runs an entry repeatedly and fills the row's times.
static Result<void> measure(const Bench &bench, unsigned repeat,
                            const std::vector<transom_tensor> &inputs,
                            BenchRow &row) {
  Result<SessionPtr> session =
      sessionFor(bench.model.get(), bench.entry->name, inputs, bench.threads);
  if (!session)
    return session.takeError();
  OutputTensors outputs;
  if (Result<void> ready = outputs.allocate(bench.model.get(), session->get(),
                                            bench.entry->name, inputs);
      !ready)
    return ready;
  std::vector<double> times;
  for (unsigned i = 0; i <= repeat; ++i) { // the first warms up
    auto start = std::chrono::steady_clock::now();
    if (Result<void> ran = check(transom_run(
            session->get(), bench.entry->name.c_str(), inputs.data(),
            inputs.size(), outputs.tensors().data(), outputs.tensors().size()));
        !ran)
      return ran;
    if (i > 0)
      times.push_back(std::chrono::duration<double, std::milli>(
                          std::chrono::steady_clock::now() - start)
                          .count());
  }
  std::sort(times.begin(), times.end());
  row.msMin = times.front();
  row.msMedian = times[times.size() / 2];
  Result<int64_t> flops =
      bench.entry->flops.evaluate([&](const std::string &name) {
        return symbolOf(*bench.entry, name, row, bench.threads);
      });
  row.flops = flops ? static_cast<double>(*flops) : 0;
  return {};
}

/// Rows of made inputs, or of the one that `--in` gives.
static Result<std::vector<BenchRow>> measureAll(const Bench &bench,
                                                const BenchFlags &flags) {
  std::vector<BenchRow> rows;
  if (!flags.in.empty()) {
    Result<InputTensors> inputs = InputTensors::read(flags.in);
    if (!inputs)
      return inputs.takeError();
    BenchRow row;
    row.entry = bench.entry->name;
    for (const transom_tensor &tensor : inputs->tensors())
      if (tensor.rank >= 2 && row.batch == 0) {
        row.batch = tensor.shape[0];
        row.seq = tensor.shape[1];
      }
    row.tokens = row.batch * row.seq;
    if (Result<void> done =
            measure(bench, flags.repeat, inputs->tensors(), row);
        !done)
      return done.takeError();
    return std::vector<BenchRow>{row};
  }
  for (int64_t batch : flags.batches)
    for (int64_t length : flags.lengths) {
      BenchRow row;
      row.entry = bench.entry->name;
      row.batch = batch;
      row.seq = length;
      row.tokens = batch * length;
      Result<MadeInputs> inputs = makeInputs(bench, row);
      if (!inputs)
        return inputs.takeError();
      if (Result<void> done =
              measure(bench, flags.repeat, inputs->tensors, row);
          !done)
        return done.takeError();
      rows.push_back(row);
    }
  return rows;
}

/// Numbers of a row in the order of the columns.
static std::vector<std::pair<const char *, double>>
numbersOf(const BenchRow &row, const Bench &bench) {
  const double bytes = static_cast<double>(bench.manifest.weightsBytes);
  const double seconds = row.msMin * 1e-3;
  const double limit =
      std::max(row.flops / bench.limits.flops, bytes / bench.limits.bandwidth);
  auto rounded = [](double value) { return std::round(value * 1e4) / 1e4; };
  return {{"batch", double(row.batch)},
          {"seq", double(row.seq)},
          {"tokens", double(row.tokens)},
          {"ms_min", rounded(row.msMin)},
          {"ms_median", rounded(row.msMedian)},
          {"tokens_per_s", rounded(row.tokensPerSecond())},
          {"gflops", rounded(row.flops / seconds * 1e-9)},
          {"gbps", rounded(bytes / seconds * 1e-9)},
          {"limit_share", rounded(limit / seconds)}};
}

static std::string jsonOf(const std::vector<BenchRow> &rows,
                          const Bench &bench) {
  std::string text;
  JsonWriter json(text, 2);
  json.beginArray();
  for (const BenchRow &row : rows) {
    json.beginObject();
    json.member("entry", row.entry);
    for (auto [name, number] : numbersOf(row, bench)) {
      if (number == std::floor(number) && std::abs(number) < 1e15)
        json.member(name, static_cast<int64_t>(number));
      else
        json.member(name, number);
    }
    json.endObject();
  }
  json.endArray();
  return text + "\n";
}

/// Markdown, or CSV without its bars.
static std::string tableOf(const std::vector<BenchRow> &rows,
                           const Bench &bench, bool markdown) {
  const char *separator = markdown ? " | " : ",";
  const char *begin = markdown ? "| " : "", *end = markdown ? " |\n" : "\n";
  std::string text, rule = "|---|";
  for (const BenchRow &row : rows) {
    std::string line = begin + row.entry, header = std::string(begin) + "entry";
    for (auto [name, number] : numbersOf(row, bench)) {
      char cell[64];
      snprintf(cell, sizeof cell, "%.15g", number);
      line += separator + std::string(cell);
      header += separator + std::string(name);
      if (text.empty())
        rule += "---:|";
    }
    if (text.empty())
      text = header + end + (markdown ? rule + "\n" : "");
    text += line + end;
  }
  return text;
}

static Result<void> runBench(const BenchFlags &flags,
                             const CommonFlags &common) {
  Result<ModelPtr> model = loadModel(flags.model);
  if (!model)
    return model.takeError();
  Bench bench;
  bench.model = std::move(*model);
  Result<Manifest> manifest = manifestOf(bench.model.get());
  if (!manifest)
    return manifest.takeError();
  bench.manifest = std::move(*manifest);
  const std::string entry =
      flags.entry.empty() ? entryNames(bench.model.get()).front() : flags.entry;
  if (Result<void> known = checkEntry(bench.model.get(), entry); !known)
    return known;
  bench.entry = bench.manifest.findEntry(entry);
  Result<transom_model_info> info = infoOf(bench.model.get());
  if (!info)
    return info.takeError();
  bench.threads = common.threads ? common.threads : usableCores();
  Result<std::vector<BenchRow>> rows = measureAll(bench, flags);
  if (!rows)
    return rows.takeError();
  bench.limits = measureLimits(info->isa, bench.threads);
  note(common, std::string(info->isa) + ", " + std::to_string(bench.threads) +
                   " threads; limits " +
                   std::to_string(std::lround(bench.limits.flops * 1e-9)) +
                   " GFLOP/s, " +
                   std::to_string(std::lround(bench.limits.bandwidth * 1e-9)) +
                   " GB/s");
  const bool json = common.json || flags.format == "json";
  return writeOut(json ? jsonOf(*rows, bench)
                       : tableOf(*rows, bench, flags.format == "md"));
}

void tools::addBench(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(app, commands, "bench",
                                "time an entry against the machine's limits");
  auto flags = std::make_shared<BenchFlags>();
  CLI::App &flagsOf = *command.app;
  flagsOf.add_option("MODEL", flags->model, "a compiled model")->required();
  flagsOf.add_option("--entry", flags->entry,
                     "the entry point (default: the first)");
  const CLI::Range size(int64_t(1), int64_t(1) << 30);
  flagsOf.add_option("-b,--batch", flags->batches, "batch sizes (default 1)")
      ->type_name("N,N..")
      ->delimiter(',')
      ->check(size);
  flagsOf.add_option("-s,--seq", flags->lengths, "lengths (default 128)")
      ->type_name("N,N..")
      ->delimiter(',')
      ->check(size);
  flagsOf
      .add_option("--in", flags->in, "time these inputs instead (safetensors)")
      ->type_name("FILE");
  flagsOf
      .add_option("-r,--repeat", flags->repeat,
                  "runs that are timed, after one that warms up (default 5)")
      ->type_name("N")
      ->check(CLI::Range(1u, 1000000u));
  addChoice(flagsOf, "--format", flags->format, {"md", "json", "csv"},
            "form of the table (default md)");
  command.run = [flags](const CommonFlags &common) {
    return runBench(*flags, common);
  };
}
