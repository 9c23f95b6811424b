// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Example call sizes, for which an entry's formulas are shown as integers.
#pragma once
#include "runtime/manifest/Manifest.h"

namespace transom {

/// The sizes of a call without padding.
struct ExampleSizes {
  int64_t batch = 1;  ///< sequences
  int64_t length = 0; ///< new tokens per sequence
  int64_t past = 0;   ///< for a step: earlier tokens per sequence
};

/// Number of workers in examples.
inline constexpr int64_t exampleWorkers = 2;

/// Returns typical calls for an entry: short and long, with one and several
/// sequences; for a step also single tokens at the end of the context.
std::vector<ExampleSizes> getExamples(const Manifest &manifest,
                                      const ManifestEntry &entry);

/// Evaluates an entry's formula for a call; nullopt on overflow. Steps return
/// the logits of all tokens and select no columns.
std::optional<int64_t> evaluateExample(const Polynomial &formula,
                                       const ManifestEntry &entry,
                                       const ExampleSizes &example);

/// Bytes of an entry's persistent buffers.
int64_t getKeptBytes(const ManifestEntry &entry);

} // namespace transom
