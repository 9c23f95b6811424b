// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A burst empties the caches and leaves threads awake, so bursts stand between
// some repetitions only, and a repetition that nobody times follows where it is
// short enough for that to matter.
#include "tools/commands/BenchMeasure.h"
#include <algorithm>
#include <chrono>
#include <ctime>

using namespace transom;
using namespace transom::tools;

/// Bursts of the peak loops in one line of the table.
static constexpr unsigned burstsOfRow = 12;
/// A repetition that takes longer does not feel what a burst leaves behind.
static constexpr double longRunMs = 50;

/// The value at a share of a sorted list.
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

namespace {

/// One artifact with memory for all calls of a workload.
class Runner {
public:
  static Result<std::unique_ptr<Runner>> create(const BenchModel &bench,
                                                const Workload &work,
                                                const MeasureOptions &options);
  /// Runs all calls; milliseconds.
  Result<double> run();
  /// Step times of the last run.
  const StepTimes &steps() const { return last; }

private:
  Runner(const Workload &work, const MeasureOptions &options)
      : work(work), options(options) {}
  Result<void> keepSteps();

  const Workload &work;
  const MeasureOptions options;
  SessionPtr session;
  std::vector<OutputTensors> outputs; // by call
  StepTimes last;
};

} // namespace

Result<std::unique_ptr<Runner>> Runner::create(const BenchModel &bench,
                                               const Workload &work,
                                               const MeasureOptions &measure) {
  std::unique_ptr<Runner> runner(new Runner(work, measure));
  const transom_model *model = bench.model.get();
  transom_session_options options = transom_session_options_default();
  options.threads = bench.threads;
  options.profile = measure.trace ? 2 : measure.profile ? 1 : 0;
  for (const BenchCall &call : work.calls)
    if (Result<void> fits = check(transom_session_options_fit(
            model, work.name.c_str(), call.inputs.data(), call.inputs.size(),
            &options));
        !fits)
      return fits.takeError();
  Result<SessionPtr> session = createSession(model, options);
  if (!session)
    return session.takeError();
  runner->session = std::move(*session);
  for (const BenchCall &call : work.calls) {
    runner->outputs.emplace_back();
    if (Result<void> ready = runner->outputs.back().allocate(
            model, runner->session.get(), work.name, call.inputs);
        !ready)
      return ready.takeError();
  }
  return runner;
}

Result<void> Runner::keepSteps() {
  const int64_t *nanoseconds = nullptr;
  size_t steps = 0;
  if (Result<void> read =
          check(transom_session_profile(session.get(), &nanoseconds, &steps));
      !read)
    return read;
  last.nanoseconds.resize(steps);
  for (size_t i = 0; i < steps; ++i)
    last.nanoseconds[i] += nanoseconds[i];
  if (!options.trace)
    return {};
  const transom_share *shares = nullptr;
  if (Result<void> read = check(
          transom_session_trace(session.get(), &shares, &steps, &last.parts));
      !read)
    return read;
  last.shares.assign(shares, shares + steps * last.parts);
  return {};
}

Result<double> Runner::run() {
  last.nanoseconds.clear();
  double seconds = 0;
  for (size_t i = 0; i < work.calls.size(); ++i) {
    const BenchCall &call = work.calls[i];
    std::vector<transom_tensor> &results = outputs[i].tensors();
    const auto start = std::chrono::steady_clock::now();
    if (Result<void> ran = check(
            transom_run(session.get(), work.name.c_str(), call.inputs.data(),
                        call.inputs.size(), results.data(), results.size()));
        !ran)
      return ran.takeError();
    seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    if (options.profile || options.trace)
      if (Result<void> kept = keepSteps(); !kept)
        return kept.takeError();
  }
  return seconds * 1e3;
}

/// Until threads that spin have gone to sleep.
static void letSleep() {
  const timespec pause = {0, 500000};
  nanosleep(&pause, nullptr);
}

namespace {
/// The repetitions of one line of the table.
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
  StepTimes best; // of the fastest of mine

private:
  /// Bursts, as many as are due before a repetition.
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
        Result<double> done = runner->run();
        if (!done)
          return done.takeError();
        lastMs = *done;
        if (theirs)
          letSleep();
      }
    return {};
  }

  /// The two take turns in who goes first.
  Result<void> repetition(unsigned index) {
    Runner *order[] = {&ours, theirs};
    if (theirs && index % 2)
      std::swap(order[0], order[1]);
    for (Runner *runner : order) {
      if (!runner)
        continue;
      Result<double> done = runner->run();
      if (!done)
        return done.takeError();
      (runner == &ours ? mine : others).push_back(*done);
      if (runner == &ours &&
          *done <= *std::min_element(mine.begin(), mine.end()))
        best = ours.steps();
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
                                const BenchModel *other, const Workload &work,
                                const MeasureOptions &options,
                                LimitMeter &meter) {
  Result<std::unique_ptr<Runner>> ours = Runner::create(bench, work, options);
  if (!ours)
    return ours.takeError();
  std::unique_ptr<Runner> theirs;
  if (other) {
    MeasureOptions plain = options;
    plain.profile = plain.trace = false;
    Result<std::unique_ptr<Runner>> made = Runner::create(*other, work, plain);
    if (!made)
      return made.takeError();
    theirs = std::move(*made);
  }
  Repetitions runs(**ours, theirs.get(), options, meter);
  if (Result<void> done = runs.run(); !done)
    return done.takeError();
  BenchRow row;
  row.entry = work.name;
  row.calls = work.calls.size();
  row.times = Times::of(runs.mine);
  row.steps = std::move(runs.best);
  if (other)
    addRatio(runs, row);
  return Result<BenchRow>(std::move(row));
}

void tools::applyLimits(BenchRow &row, const BenchModel &bench,
                        const Workload &work, const MachineLimits &limits) {
  for (const BenchCall &call : work.calls) {
    const BenchCost cost = costOf(bench, call);
    row.limitMs += 1e3 * cost.limit(limits);
    row.cost.flops += cost.flops;
    row.cost.bf16Flops += cost.bf16Flops;
    row.cost.bytes += cost.bytes;
    row.cost.tokens += cost.tokens;
    row.cost.rows = std::max(row.cost.rows, cost.rows);
    row.cost.columns = std::max(row.cost.columns, cost.columns);
  }
}
