// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The matrix of `verify --bits`: for each axis on which results should have the
// same bits, what was run, how often results were compared, and the first
// difference.
#pragma once
#include "tools/commands/verify/BitsTensors.h"
#include <optional>

namespace transom::tools {

/// What became of an axis.
enum class BitsVerdict {
  Equal,         ///< all comparisons found the same bits
  Different,     ///< some did not
  NotApplicable, ///< the model has nothing of this kind
  NotRun,        ///< it cannot be run here
};

/// One axis for one entry and one instruction set.
struct BitsCell {
  std::string axis;
  std::string entry; ///< empty: of all entries
  std::string isa;   ///< empty: of the artifact as a whole
  /// What was run, or why nothing was.
  std::string text;
  /// Whether transom promises the same bits; a difference is an error then.
  bool isPromised = true;
  BitsVerdict verdict = BitsVerdict::Equal;
  int64_t comparisons = 0; ///< of a result, or of the logits of some tokens
  int64_t numbers = 0;     ///< that were compared
  int64_t differing = 0;   ///< comparisons that found other bits
  std::string difference;  ///< the first one

  /// Compares results with those of the sequence `row` and the ones after it in
  /// a batch. `how` says what is different about the run, for the first
  /// difference. `zeroElsewhere`: what the sequence has no result for is zero.
  void compare(const Entry &entry, const BitsResults &expected,
               const BitsResults &found, int64_t row, const std::string &how,
               bool zeroElsewhere = false);
  /// Compares `count` floats. `what` names the first one.
  void compare(const float *expected, const float *found, int64_t count,
               const std::string &what, const std::string &how);
  /// Counts a comparison of bytes that have no type.
  void compareBytes(std::string_view expected, std::string_view found,
                    const std::string &how);
  void setNotApplicable(std::string reason);
  void setNotRun(std::string reason);

private:
  void count(int64_t compared, std::optional<std::string> found);
};

/// The matrix of a model.
struct BitsReport {
  std::string path, name, dtype, backend;
  uint64_t seed = 0;
  std::vector<int64_t> lengths;
  std::vector<BitsCell> cells;

  /// Adds cells of an entry.
  void add(std::vector<BitsCell> more, const std::string &entry,
           const std::string &isa);
  /// The error for a difference on an axis that is promised.
  Result<void> check() const;
  std::string toText() const;
  std::string toJson() const;
};

} // namespace transom::tools
