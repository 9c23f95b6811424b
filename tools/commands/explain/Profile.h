// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured times of phases, as `transom bench --profile --json` prints them.
#pragma once
#include "compiler/explain/Explanation.h"
#include "runtime/json/Json.h"

namespace transom::tools {

/// All runs of one phase in a call.
struct PhaseTime {
  std::string phase;
  double ms = 0;
  /// The share of the machine's limit that it reaches, in operations or in
  /// bytes, whichever is nearer; 0 if it is not known.
  double limitShare = 0;
};

/// A row of bench: the times of one call.
struct MeasuredCall {
  std::string entry;
  int64_t batch = 0, length = 0, past = 0;
  double ms = 0;
  double limitShare = 0; ///< share of the machine's limit; 0: not known
  std::vector<PhaseTime> phases;

  /// `1 x 128`, `1 x 1 after 512`.
  std::string getSizes() const;
  const PhaseTime *find(const std::string &phase) const;
};

/// A compile and what was measured of it.
struct MeasuredCompile {
  const Explanation &explanation;
  std::vector<MeasuredCall> calls; ///< empty without a profile
};

/// Reads the rows that have a profile. Fails when the text is not what bench
/// prints, or no row has a profile.
Result<std::vector<MeasuredCall>> readProfile(const JsonDocument &document);

/// The measured call of an entry whose sizes are those of its example, else
/// the first one of the entry; null without one.
const MeasuredCall *findCall(const std::vector<MeasuredCall> &calls,
                             const ExplainedEntry &entry);

} // namespace transom::tools
