// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of example calls, with which formulas of an entry are shown as numbers.
#pragma once
#include "runtime/manifest/Manifest.h"

namespace transom {

/// The sizes of a call without padding.
struct ExampleSizes {
  int64_t batch = 1;  ///< sequences
  int64_t length = 0; ///< new tokens of each sequence
  int64_t past = 0; ///< of a step: tokens of each sequence before the new ones
};

/// The number of workers in examples.
inline constexpr int64_t exampleWorkers = 2;

/// Calls that make sense for an entry: short and long, of one and of several
/// sequences; for a step also single tokens at the end of the context.
std::vector<ExampleSizes> getExamples(const Manifest &manifest,
                                      const ManifestEntry &entry);

/// The value of a formula of an entry for a call; nothing if the formula
/// overflows. Steps give the logits of all tokens, and list none.
std::optional<int64_t> evaluateExample(const Polynomial &formula,
                                       const ManifestEntry &entry,
                                       const ExampleSizes &example);

/// Bytes of the buffers of an entry that last from call to call.
int64_t getKeptBytes(const ManifestEntry &entry);

} // namespace transom
