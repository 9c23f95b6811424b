// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A burst evicts the CPU caches and leaves threads awake. Therefore bursts run
// only between some repetitions, and an untimed repetition follows them if
// repetitions are short enough to be affected.
#include "tools/commands/bench/BenchMeasure.h"
#include <algorithm>
#include <chrono>
#include <ctime>

using namespace transom;
using namespace transom::tools;

/// Bursts with the peak loops per table line.
static constexpr unsigned burstsOfRow = 12;
/// A burst does not affect the repetition after it if that takes longer.
static constexpr double longRunMs = 50;

/// Returns the value at a quantile in a sorted list.
static double quantile(const std::vector<double> &sorted, double share) {
  return sorted[static_cast<size_t>(share * double(sorted.size() - 1) + 0.5)];
}

Times Times::of(std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  Times times;
  times.min = milliseconds.front();
  times.median = quantile(milliseconds, 0.5);
  times.spread = (quantile(milliseconds, 0.75) - quantile(milliseconds, 0.25)) /
                 times.median;
  return times;
}

Result<void> Runner::keepTimes(const transom_session *session) {
  if (!options.profile && !options.trace)
    return {};
  // Add the time for each dispatch.
  const int64_t *nanoseconds = nullptr;
  size_t dispatches = 0;
  if (Result<void> read = check(
          transom_session_get_profile(session, &nanoseconds, &dispatches));
      !read)
    return read;
  last.nanoseconds.resize(dispatches);
  for (size_t i = 0; i < dispatches; ++i)
    last.nanoseconds[i] += nanoseconds[i];
  if (!options.trace)
    return {};

  // Store the worker times for this call.
  const transom_worker_time *times = nullptr;
  if (Result<void> read = check(transom_session_get_trace(
          session, &times, &dispatches, &last.numWorkers));
      !read)
    return read;
  last.workerTimes.assign(times, times + dispatches * last.numWorkers);
  return {};
}

//===----------------------------------------------------------------------===//
// Calls on tensors
//===----------------------------------------------------------------------===//

namespace {

/// One artifact with memory for all calls in a workload.
class CallRunner : public Runner {
public:
  CallRunner(const Workload &work, const MeasureOptions &options)
      : Runner(options), work(work) {}
  Result<void> prepare(const BenchModel &bench);
  Result<double> run() override;

private:
  const Workload &work;
  SessionPtr session;
  std::vector<OutputTensors> outputs; // by call
};

} // namespace

Result<void> CallRunner::prepare(const BenchModel &bench) {
  const transom_model *model = bench.model.get();
  transom_session_options sizes = transom_session_options_default();
  sizes.threads = bench.threads;
  sizes.profile = options.trace ? 2 : options.profile ? 1 : 0;
  for (const BenchCall &call : work.calls)
    if (Result<void> fits = check(transom_session_options_fit(
            model, work.name.c_str(), call.inputs.data(), call.inputs.size(),
            &sizes));
        !fits)
      return fits;
  TRANSOM_ASSIGN(SessionPtr created, createSession(model, sizes));
  session = std::move(created);
  for (const BenchCall &call : work.calls) {
    outputs.emplace_back();
    if (Result<void> ready = outputs.back().allocate(model, session.get(),
                                                     work.name, call.inputs);
        !ready)
      return ready;
  }
  return {};
}

Result<double> CallRunner::run() {
  forgetTimes();
  double seconds = 0;
  for (size_t i = 0; i < work.calls.size(); ++i) {
    const BenchCall &call = work.calls[i];
    std::vector<transom_tensor> &results = outputs[i].tensors();
    const auto start = std::chrono::steady_clock::now();
    TRANSOM_TRY(check(transom_session_run(
        session.get(), work.name.c_str(), call.inputs.data(),
        call.inputs.size(), results.data(), results.size())));
    seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    TRANSOM_TRY(keepTimes(session.get()));
  }
  return seconds * 1e3;
}

Result<std::unique_ptr<Runner>>
Workload::runner(const BenchModel &bench, const MeasureOptions &options) const {
  auto runner = std::make_unique<CallRunner>(*this, options);
  TRANSOM_TRY(runner->prepare(bench));
  return std::unique_ptr<Runner>(std::move(runner));
}

void Workload::describe(BenchRow &row) const {
  row.entry = name;
  row.calls = calls.size();
}

//===----------------------------------------------------------------------===//
// Repetitions
//===----------------------------------------------------------------------===//

/// Waits until spinning threads have gone to sleep.
static void letSleep() {
  const timespec pause = {0, 500000};
  nanosleep(&pause, nullptr);
}

namespace {
/// The repetitions for one table line.
class Repetitions {
public:
  Repetitions(Runner &ours, Runner *theirs, const MeasureOptions &options,
              LimitMeter &meter)
      : ours(ours), theirs(theirs), options(options), meter(meter) {}

  Result<void> run() {
    for (unsigned i = 0; i < std::max(1u, options.warmups); ++i)
      if (Result<void> done = warm(); !done)
        return done;
    for (unsigned i = 0; i < options.repeat; ++i) {
      if (Result<void> done = maybeBurst(i); !done)
        return done;
      if (Result<void> done = repetition(i); !done)
        return done;
    }
    return {};
  }

  std::vector<double> mine, others;
  DispatchTimes best; // from our fastest repetition

private:
  /// Runs the bursts that are due before a repetition.
  Result<void> maybeBurst(unsigned index) {
    const unsigned due = (index + 1) * burstsOfRow / options.repeat;
    if (bursts >= due)
      return {};
    letSleep();
    for (; bursts < due; ++bursts)
      meter.burst();
    letSleep();
    return lastMs < longRunMs ? warm() : Result<void>();
  }

  Result<void> warm() {
    for (Runner *runner : {&ours, theirs})
      if (runner) {
        TRANSOM_ASSIGN(double done, runner->run());
        lastMs = done;
        if (theirs)
          letSleep();
      }
    return {};
  }

  /// Runs one repetition; the two artifacts alternate in running first.
  Result<void> repetition(unsigned index) {
    Runner *order[] = {&ours, theirs};
    if (theirs && index % 2)
      std::swap(order[0], order[1]);
    for (Runner *runner : order) {
      if (!runner)
        continue;
      TRANSOM_ASSIGN(double done, runner->run());
      (runner == &ours ? mine : others).push_back(done);
      if (runner == &ours &&
          done <= *std::min_element(mine.begin(), mine.end()))
        best = ours.dispatchTimes();
      if (theirs)
        letSleep();
    }
    return {};
  }

  Runner &ours, *theirs;
  const MeasureOptions &options;
  LimitMeter &meter;
  unsigned bursts = 0;
  double lastMs = 0;
};
} // namespace

static void addRatio(const Repetitions &runs, BenchRow &row) {
  std::vector<double> ratios;
  for (size_t i = 0; i < runs.mine.size(); ++i)
    ratios.push_back(runs.others[i] / runs.mine[i]);
  std::sort(ratios.begin(), ratios.end());
  row.ratioLow = quantile(ratios, 0.25);
  row.ratio = quantile(ratios, 0.5);
  row.ratioHigh = quantile(ratios, 0.75);
  row.other = Times::of(runs.others);
}

Result<BenchRow> tools::measure(const BenchModel &bench,
                                const BenchModel *other, const BenchWork &work,
                                const MeasureOptions &options,
                                LimitMeter &meter) {
  TRANSOM_ASSIGN(std::unique_ptr<Runner> ours, work.runner(bench, options));
  std::unique_ptr<Runner> theirs;
  if (other) {
    MeasureOptions plain = options;
    plain.profile = plain.trace = false;
    TRANSOM_ASSIGN(std::unique_ptr<Runner> made, work.runner(*other, plain));
    theirs = std::move(made);
  }
  Repetitions runs(*ours, theirs.get(), options, meter);
  TRANSOM_TRY(runs.run());
  BenchRow row;
  work.describe(row);
  row.times = Times::of(runs.mine);
  row.dispatchTimes = std::move(runs.best);
  if (other)
    addRatio(runs, row);
  return Result<BenchRow>(std::move(row));
}

void tools::applyLimits(BenchRow &row, const std::vector<BenchRun> &runs,
                        size_t barriersPerRun, const MachineLimits &limits) {
  row.limits = limits;
  for (const auto &[symbols, cost] : runs) {
    row.limitMs += 1e3 * cost.limit(limits);
    row.cost.flops += cost.flops;
    row.cost.bf16Flops += cost.bf16Flops;
    row.cost.int8Flops += cost.int8Flops;
    row.cost.bytes += cost.bytes;
    row.cost.tokens += cost.tokens;
    row.cost.rows = std::max(row.cost.rows, cost.rows);
    row.cost.columns = std::max(row.cost.columns, cost.columns);
  }
  if (!row.decoder || row.cost.tokens == 0)
    return;
  const auto tokens = static_cast<double>(row.cost.tokens);
  row.decoder->bytesPerToken = row.cost.bytes / tokens;
  row.decoder->barriersPerToken =
      static_cast<double>(barriersPerRun * runs.size()) / tokens;
}
