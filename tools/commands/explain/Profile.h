// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured phase times, as `transom bench --profile --json` prints them.
#pragma once
#include "compiler/explain/Explanation.h"
#include "runtime/json/Json.h"

namespace transom::tools {

/// All runs of one phase in a call.
struct PhaseTime {
  std::string phase;
  double ms = 0;
  /// Share of the host's compute or bandwidth limit, whichever is closer to its
  /// limit; 0 if unknown.
  double limitShare = 0;
};

/// A bench row: the times for one call.
struct MeasuredCall {
  std::string entry;
  int64_t batch = 0, length = 0, past = 0;
  double ms = 0;
  double limitShare = 0; ///< share of the host's limit; 0: unknown
  std::vector<PhaseTime> phases;

  /// Returns `1 x 128`, `1 x 1 after 512`.
  std::string getSizes() const;
  const PhaseTime *find(const std::string &phase) const;
};

/// A compile and its measurements.
struct MeasuredCompile {
  const Explanation &explanation;
  std::vector<MeasuredCall> calls; ///< empty without a profile
};

/// Reads the rows that have a profile. Fails if the document is not bench
/// output, or if no row has a profile.
Result<std::vector<MeasuredCall>> readProfile(const JsonDocument &document);

/// Returns the measured call with the sizes in the entry's example, otherwise
/// the entry's first call; null without one.
const MeasuredCall *findCall(const std::vector<MeasuredCall> &calls,
                             const ExplainedEntry &entry);

} // namespace transom::tools
