// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timed runs: repeats a workload, alone or alternating with another artifact,
// with bursts of the peak loops in between.
#pragma once
#include "tools/commands/bench/BenchCalls.h"

namespace transom::tools {

/// Measurement options.
struct MeasureOptions {
  unsigned warmups = 1, repeat = 5;
  bool profile = false; ///< record dispatch times
  bool trace = false;   ///< and worker times
};

/// Statistics over repetitions, in milliseconds.
struct Times {
  double min = 0, median = 0;
  double spread = 0; ///< interquartile range divided by the median

  static Times of(std::vector<double> milliseconds);
};

/// Time distribution in the fastest repetition.
struct DispatchTimes {
  std::vector<int64_t> nanoseconds; ///< by dispatch, sum over all calls
  size_t numWorkers = 0;
  /// From the last call: [dispatches][workers].
  std::vector<transom_worker_time> workerTimes;
};

/// Runs the work in a line on one artifact.
class Runner {
public:
  virtual ~Runner() = default;
  /// Runs all work once; returns milliseconds.
  virtual Result<double> run() = 0;
  /// Returns the times from the last run.
  const DispatchTimes &dispatchTimes() const { return last; }

protected:
  explicit Runner(const MeasureOptions &options) : options(options) {}
  /// Clears the times from the previous run.
  void forgetTimes() { last.nanoseconds.clear(); }
  /// Adds the times from the session's last run, if they are recorded.
  Result<void> keepTimes(const transom_session *session);
  const MeasureOptions options;

private:
  DispatchTimes last;
};

/// Additional statistics in a decoder line.
struct DecoderFigures {
  int64_t depth = 0;           ///< positions before the first new one
  double bytesPerToken = 0;    ///< bytes read from memory
  double barriersPerToken = 0; ///< dispatches in the runs
};

/// One table line.
struct BenchRow {
  std::string entry;
  size_t calls = 1;
  BenchCost cost;       ///< sum over all runs; max `rows` and `columns`
  double limitMs = 0;   ///< sum over the runs' limits
  MachineLimits limits; ///< used for `limitMs`
  Times times;
  std::optional<Times> other; ///< for the compared artifact
  /// The other artifact's time divided by this one's, per repetition: quartiles
  /// and median. Above 1 this artifact is faster.
  double ratioLow = 0, ratio = 0, ratioHigh = 0;
  DispatchTimes dispatchTimes;
  std::optional<DecoderFigures> decoder;
};

/// Times work; `other` may be null.
Result<BenchRow> measure(const BenchModel &bench, const BenchModel *other,
                         const BenchWork &work, const MeasureOptions &options,
                         LimitMeter &meter);

/// Sets the row's costs and limit once the host's limits are known.
void applyLimits(BenchRow &row, const std::vector<BenchRun> &runs,
                 size_t barriersPerRun, const MachineLimits &limits);

} // namespace transom::tools
