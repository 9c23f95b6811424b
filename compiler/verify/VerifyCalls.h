// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls for checking a model: each entry on a small padded batch with holes in
// its mask; a decoder in a single step, in chunks and after a rewind. They
// depend only on the imported module.
#pragma once
#include "compiler/evaluator/Evaluator.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// One entry call. For float inputs only the sizes count, and the elements that
/// are 0, 1 or at most -1e30; all other elements are arbitrary.
struct VerifyCall {
  std::string entry;
  std::vector<NamedTensor> inputs;
  /// For a step: the sequences in its rows.
  std::vector<SequenceRows> sequences;

  /// `encode: input_ids [3, 5], attention_mask [3, 5]`; for a step also the
  /// past and new tokens per sequence, `sequence 0: 5 + 2`.
  std::string str() const;
};

/// Consecutive calls that share their caches.
using VerifyCase = std::vector<VerifyCall>;

/// Sequence lengths in calls.
enum class CallLengths {
  Short, ///< 1, 3 and 5 tokens: for a check after each pass
  Panel  ///< 33 tokens, more than a key panel
};

/// Creates calls for all entries in an attn module. Sizes are limited to the
/// model's maximum. In an encoder-decoder, sources are called before steps.
Result<std::vector<VerifyCase>> makeCalls(mlir::ModuleOp module,
                                          CallLengths lengths);

} // namespace transom
