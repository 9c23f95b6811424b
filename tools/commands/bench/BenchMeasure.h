// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timed runs: a workload again and again, alone or taking turns with another
// artifact, with bursts of the peak loops between them.
#pragma once
#include "tools/commands/bench/BenchCalls.h"

namespace transom::tools {

/// How to measure.
struct MeasureOptions {
  unsigned warmups = 1, repeat = 5;
  bool profile = false; ///< keep the times of the dispatches
  bool trace = false;   ///< and of each worker
};

/// What repetitions took, in milliseconds.
struct Times {
  double min = 0, median = 0;
  double spread = 0; ///< quartile range over the median

  static Times of(std::vector<double> milliseconds);
};

/// Where the time of the fastest repetition went.
struct DispatchTimes {
  std::vector<int64_t> nanoseconds; ///< by dispatch, all calls together
  size_t numWorkers = 0;
  /// Of the last call: [dispatches][workers].
  std::vector<transom_worker_time> workerTimes;
};

/// Does the work of a line on one artifact.
class Runner {
public:
  virtual ~Runner() = default;
  /// Does all of it once; milliseconds.
  virtual Result<double> run() = 0;
  /// Times of the last run.
  const DispatchTimes &dispatchTimes() const { return last; }

protected:
  explicit Runner(const MeasureOptions &options) : options(options) {}
  /// Forgets the times of the run before.
  void forgetTimes() { last.nanoseconds.clear(); }
  /// Adds the times of the session's last run, if they are recorded.
  Result<void> keepTimes(const transom_session *session);
  const MeasureOptions options;

private:
  DispatchTimes last;
};

/// Additional numbers of a line on a decoder.
struct DecoderFigures {
  int64_t depth = 0;           ///< positions before the first new one
  double bytesPerToken = 0;    ///< read from memory
  double barriersPerToken = 0; ///< dispatches of the runs
};

/// One line of the table.
struct BenchRow {
  std::string entry;
  size_t calls = 1;
  BenchCost cost; ///< all runs together; `rows` and `columns` of the largest
  double limitMs = 0;   ///< sum of the runs' limits
  MachineLimits limits; ///< that they were computed with
  Times times;
  std::optional<Times> other; ///< of the artifact that is compared
  /// The other's time over this one's, repetition by repetition: quartiles and
  /// median; above 1 this one is faster.
  double ratioLow = 0, ratio = 0, ratioHigh = 0;
  DispatchTimes dispatchTimes;
  std::optional<DecoderFigures> decoder;
};

/// Times work; `other` may be NULL.
Result<BenchRow> measure(const BenchModel &bench, const BenchModel *other,
                         const BenchWork &work, const MeasureOptions &options,
                         LimitMeter &meter);

/// Fills in the row's costs and limit once the machine's limits are known.
void applyLimits(BenchRow &row, const std::vector<BenchRun> &runs,
                 size_t barriersPerRun, const MachineLimits &limits);

} // namespace transom::tools
