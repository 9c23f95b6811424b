// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With a summary, only those groups in a row are read that contain the largest
// logits or, with `renormalize_logits`, tokens that processors change. Without
// a summary, a row is read two or three times.
#include "runtime/generate/BeamCandidates.h"
#include <algorithm>
#include <limits>

using namespace transom;

BeamCandidates::BeamCandidates(const GenerationConfig &config, int64_t width)
    : config(config), width(width), processors(config, width), row(width),
      scan(width), restricted(width) {
  kept.reserve(size_t(width));
  edited.reserve(size_t(width));
  found.reserve(BeamSearch::getCount(config));
}

/// Returns the sum of exp(logit - shift) for the tokens from `begin` to `end`.
/// Groups that are completely inside the range are not read if their sums are
/// known.
double BeamCandidates::sumRange(int64_t begin, int64_t end,
                                double shift) const {
  auto sum = [&](int64_t from, int64_t to) {
    return sumExp(logits.logits + from, to - from, shift);
  };
  const int64_t first = getNumSummaryGroups(begin);
  const int64_t last =
      end == width ? getNumSummaryGroups(end) : end / summaryGroup;
  if (!logits.sums || first >= last)
    return sum(begin, end);
  return sum(begin, first * summaryGroup) +
         sumGroups(logits.maxima + first, logits.sums + first, last - first,
                   shift) +
         sum(std::min(last * summaryGroup, end), end);
}

/// Fills `kept` with tokens that include the `count` most probable ones.
void BeamCandidates::gather(size_t count) {
  kept.clear();
  if (!row.isUniform()) {
    scan.gatherLargest(count + row.getEdits().size(), kept);
    kept.erase(
        std::remove_if(kept.begin(), kept.end(),
                       [&](int32_t token) { return row.isEdited(token); }),
        kept.end());
  }
  for (const EditedRow::Edit &edit : row.getEdits())
    if (edit.value > -std::numeric_limits<float>::infinity())
      kept.push_back(int32_t(edit.token));
}

/// Returns the logarithm of the probability sum after processing; `found` must
/// not be empty. Edited tokens are excluded from the row's sum rather than
/// subtracted, so no precision is lost by cancellation.
double BeamCandidates::getLogSum() {
  const double top = found.front().logprob;
  double sum = 0;
  edited.clear();
  for (const EditedRow::Edit &edit : row.getEdits()) {
    sum += portableExp(double(edit.value) - top);
    edited.push_back(int32_t(edit.token));
  }
  if (!row.isUniform()) {
    std::sort(edited.begin(), edited.end());
    int64_t begin = 0;
    for (int32_t token : edited) {
      sum += sumRange(begin, token, logSum + top);
      begin = token + 1;
    }
    sum += sumRange(begin, width, logSum + top);
  }
  return top + portableLog(sum);
}

/// Sets the row's log-probabilities. If tokens are restricted, each allowed
/// token counts as edited.
Result<void> BeamCandidates::begin(const LogitRow &values,
                                   const SamplingPosition &position) {
  logits = values;
  if (position.allowed) {
    if (!restricted.gather(values, *position.allowed))
      return rejected("a logit is not finite");
    logSum = restricted.getLogSum();
    row.begin(logits.logits, logSum);
    row.setAll(-std::numeric_limits<float>::infinity());
    for (size_t i = 0; i != position.allowed->size(); ++i)
      row.set((*position.allowed)[i],
              float(double(restricted.getLogits()[i]) - logSum));
    return {};
  }
  if (!scan.scan(values.logits, values.maxima))
    return rejected("a logit is not finite");
  const double top = scan.maximum();
  logSum = top + portableLog(sumRange(0, width, top));
  row.begin(logits.logits, logSum);
  return {};
}

Result<const std::vector<ScoredToken> *>
BeamCandidates::find(const LogitRow &values, const SamplingPosition &position) {
  TRANSOM_TRY(begin(values, position));
  // Process the log-probabilities.
  if (processors.changes(position))
    processors.apply(row, position);
  // Select the best tokens.
  const size_t most = BeamSearch::getCount(config);
  gather(most);
  const size_t count = std::min(most, kept.size());
  std::partial_sort(kept.begin(), kept.begin() + int64_t(count), kept.end(),
                    [&](int32_t a, int32_t b) {
                      const float left = row.get(a), right = row.get(b);
                      return left != right ? left > right : a < b;
                    });
  found.clear();
  for (size_t i = 0; i != count; ++i)
    found.push_back({kept[i], row.get(kept[i])});
  // Normalize the probabilities again.
  if (config.renormalizeLogits && !found.empty() && !row.getEdits().empty()) {
    const double sum = getLogSum();
    for (ScoredToken &token : found)
      token.logprob = float(double(token.logprob) - sum);
  }
  return &found;
}
