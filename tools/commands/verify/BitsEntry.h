// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes for an entry that is called on tensors: runs, threads, batches, padding,
// host threads.
#pragma once
#include "tools/commands/verify/BitsReport.h"

namespace transom::tools {

/// Settings for the runs.
struct BitsOptions {
  std::vector<int64_t> lengths; ///< sequence lengths
  uint64_t seed = 1;
  unsigned maxThreads = 16;
};

/// An entry with calls and their results. If the entry has a batch dimension,
/// each call has one sequence.
class BitsEntry {
public:
  /// Runs each call alone on one thread; all other runs are compared with these
  /// results. The same entry in another artifact or instruction set gets the
  /// same calls. `model` must outlive this.
  static Result<BitsEntry> create(const Model &model, const Entry &entry,
                                  const BitsOptions &options);

  /// Runs all axes.
  Result<std::vector<BitsCell>> run();

  /// Compares the results with the same entry in another model.
  Result<void> compareWith(const Model &other, BitsCell &cell,
                           const std::string &how) const;

  const Entry &entry() const { return *of; }
  const std::vector<BitsCall> &calls() const { return sequences; }
  const std::vector<BitsResults> &results() const { return alone; }

private:
  BitsEntry(const Model &model, const Entry &entry, const BitsOptions &options)
      : model(&model), of(&entry), options(options) {}
  BitsInputs inputs(std::mt19937 &random) const {
    return BitsInputs(*model, *of, random);
  }
  Result<BitsResults> runOne(const BitsCall &call, const BitsWay &way) const {
    return runBits(*model, *of, call, way);
  }
  Result<void> compareRows(BitsCell &cell, const std::vector<size_t> &picks,
                           const BitsCall &call, const BitsWay &way,
                           const std::string &how, bool zeroElsewhere) const;
  Result<BitsCell> checkRuns() const;
  Result<BitsCell> checkThreads() const;
  Result<BitsCell> checkHosts() const;
  Result<BitsCell> checkBatchSizes() const;
  Result<BitsCell> checkPositions() const;
  Result<BitsCell> checkNeighbours() const;
  Result<BitsCell> checkPadding() const;
  Result<BitsCell> checkMixture() const;
  Result<BitsCall> makeLarge() const;

  const Model *model;
  const Entry *of;
  BitsOptions options;
  std::vector<BitsCall> sequences;
  std::vector<BitsResults> alone;
};

} // namespace transom::tools
