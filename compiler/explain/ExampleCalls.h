// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls for which an explanation gives numbers: one without padding, and a
// batch with padding.
#pragma once
#include "compiler/explain/Explanation.h"
#include "runtime/manifest/ExampleSizes.h"

namespace transom {

/// Computes the amounts of an entry for its example calls.
class ExampleCalls {
public:
  ExampleCalls(const Manifest &manifest, const ManifestEntry &entry);

  void set(Amount &amount) const;
  void set(EntryCost &cost) const;
  /// Also adds the call with padding, if the entry has one.
  void set(ExplainedEntry &explained) const;

  /// Lengths of the sequences of the call with padding: that of the example and
  /// a quarter of it. Empty for a step, whose batches have no padding, and for
  /// an entry without batches of sequences.
  std::vector<int64_t> getPaddedLengths() const;
  /// The value of a formula for sequences of these lengths in one batch, padded
  /// to the first of them.
  std::optional<int64_t> evaluate(const Polynomial &formula,
                                  const std::vector<int64_t> &lengths) const;

private:
  std::optional<PaddedCall>
  getPaddedCall(const ExplainedEntry &explained) const;

  const ManifestEntry &entry;
  ExampleSizes sizes;
};

} // namespace transom
