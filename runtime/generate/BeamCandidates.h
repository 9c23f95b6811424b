// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The most probable next tokens of a beam. Processors work on log-probabilities
// here, and what they change is a list: there is no second row beside the
// model's.
#pragma once
#include "runtime/generate/BeamSearch.h"
#include "runtime/generate/LogitProcessors.h"
#include "runtime/generate/LogitsSource.h"
#include "runtime/generate/Shortlist.h"
#include "runtime/generate/Softmax.h"

namespace transom {

/// Used by one thread at a time. All memory is taken when it is made.
class BeamCandidates {
public:
  /// `config` is resolved and outlives this.
  BeamCandidates(const GenerationConfig &config, int64_t width);

  /// The most probable tokens after a row of logits, as BeamSearch::add() takes
  /// them: BeamSearch::getCount() of them, fewer where processors leave fewer.
  /// They stay until the next call. `Rejected` for a logit that is not finite.
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
  double logSum = 0; ///< of the row as the model gave it
  LogitProcessors processors;
  EditedRow row;
  RowScan scan;
  RestrictedRow restricted; ///< where only listed tokens can come
  std::vector<int32_t> kept, edited;
  std::vector<ScoredToken> found;
};

} // namespace transom
