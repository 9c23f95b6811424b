// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The matrix for `verify --bits`. For each axis on which results should be
// bit-identical, it has the runs, the comparison count and the first
// difference.
#pragma once
#include "tools/commands/verify/BitsTensors.h"
#include <optional>

namespace transom::tools {

/// Outcome for an axis.
enum class BitsVerdict {
  Equal,         ///< all comparisons found the same bits
  Different,     ///< some did not
  NotApplicable, ///< the model has nothing of this kind
  NotRun,        ///< it cannot run here
};

/// One axis for one entry and one instruction set.
struct BitsCell {
  std::string axis;
  std::string entry; ///< empty: all entries
  std::string isa;   ///< empty: the whole artifact
  /// The runs, or the reason why nothing ran.
  std::string text;
  /// True if transom promises the same bits, so that a difference is an error.
  bool isPromised = true;
  BitsVerdict verdict = BitsVerdict::Equal;
  int64_t comparisons = 0; ///< one per result, or per step logits
  int64_t numbers = 0;     ///< compared elements
  int64_t differing = 0;   ///< comparisons with different bits
  std::string difference;  ///< the first one

  /// Compares results with the sequence that starts at `row` in a batch. `how`
  /// describes the run, for the first difference. `zeroElsewhere`: elements
  /// without an expected value must be zero.
  void compare(const Entry &entry, const BitsResults &expected,
               const BitsResults &found, int64_t row, const std::string &how,
               bool zeroElsewhere = false);
  /// Compares `count` floats. `what` describes the first one.
  void compare(const float *expected, const float *found, int64_t count,
               const std::string &what, const std::string &how);
  /// Compares bytes without a type.
  void compareBytes(std::string_view expected, std::string_view found,
                    const std::string &how);
  void setNotApplicable(std::string reason);
  void setNotRun(std::string reason);

private:
  void count(int64_t compared, std::optional<std::string> found);
};

/// The matrix for a model.
struct BitsReport {
  std::string path, name, dtype, backend;
  uint64_t seed = 0;
  std::vector<int64_t> lengths;
  std::vector<BitsCell> cells;

  /// Adds cells for an entry.
  void add(std::vector<BitsCell> more, const std::string &entry,
           const std::string &isa);
  /// Returns an error for a difference on a promised axis.
  Result<void> check() const;
  std::string toText() const;
  std::string toJson() const;
};

} // namespace transom::tools
