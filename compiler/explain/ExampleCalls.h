// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The example calls for which an explanation contains values: one without
// padding, and a batch with padding.
#pragma once
#include "compiler/explain/Explanation.h"
#include "runtime/manifest/ExampleSizes.h"

namespace transom {

/// Computes an entry's amounts for its example calls.
class ExampleCalls {
public:
  ExampleCalls(const Manifest &manifest, const ManifestEntry &entry);

  void set(Amount &amount) const;
  void set(EntryCost &cost) const;
  /// Sets all amounts, and adds the call with padding if the entry has one.
  void set(ExplainedEntry &explained) const;

  /// Returns the sequence lengths for the call with padding: the example length
  /// and a quarter. Empty for a step, whose batches have no padding, and for an
  /// entry without sequence batches.
  std::vector<int64_t> getPaddedLengths() const;
  /// Evaluates a formula for sequences with these lengths in one batch, padded
  /// to the first length.
  std::optional<int64_t> evaluate(const Polynomial &formula,
                                  const std::vector<int64_t> &lengths) const;

private:
  std::optional<PaddedCall>
  getPaddedCall(const ExplainedEntry &explained) const;

  const ManifestEntry &entry;
  ExampleSizes sizes;
};

} // namespace transom
