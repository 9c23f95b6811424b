// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the most probable next tokens for a beam. Processors work on
// log-probabilities and record their changes in a list, so the model's row is
// not copied.
#pragma once
#include "runtime/generate/BeamSearch.h"
#include "runtime/generate/LogitProcessors.h"
#include "runtime/generate/LogitsSource.h"
#include "runtime/generate/Shortlist.h"
#include "runtime/generate/Softmax.h"

namespace transom {

/// Not thread-safe. Allocates all memory in the constructor.
class BeamCandidates {
public:
  /// `config` is resolved and must outlive this object.
  BeamCandidates(const GenerationConfig &config, int64_t width);

  /// Returns the most probable tokens after a row of logits, in the form that
  /// BeamSearch::add() takes: BeamSearch::getCount() tokens, or fewer if
  /// processors leave fewer. The result is valid until the next call.
  /// `Rejected` for a logit that is not finite.
  Result<const std::vector<ScoredToken> *>
  find(const LogitRow &logits, const SamplingPosition &position);

private:
  double sumRange(int64_t begin, int64_t end, double shift) const;
  void gather(size_t count);
  double getLogSum();
  Result<void> begin(const LogitRow &values, const SamplingPosition &position);

  const GenerationConfig &config;
  int64_t width;
  LogitRow logits = nullptr;
  double logSum = 0; ///< logSumExp of the model's row
  LogitProcessors processors;
  EditedRow row;
  RowScan scan;
  RestrictedRow restricted; ///< used if tokens are restricted
  std::vector<int32_t> kept, edited;
  std::vector<ScoredToken> found;
};

} // namespace transom
