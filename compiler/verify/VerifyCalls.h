// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls with which a model is checked: each entry on a small padded batch with
// holes in its mask, a decoder in a step, in chunks and after a rewind. They
// follow from the imported module alone.
#pragma once
#include "compiler/evaluator/Evaluator.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// One call of an entry. Only the sizes of inputs of floats count, and which of
/// their elements are 0, 1 or at most -1e30: any other is any number.
struct VerifyCall {
  std::string entry;
  std::vector<NamedTensor> inputs;
  /// For a step: the sequences of its rows.
  std::vector<SequenceRows> sequences;

  /// `encode: input_ids [3, 5], attention_mask [3, 5]`; for a step also the
  /// tokens of each sequence after its past, `sequence 0: 5 + 2`.
  std::string str() const;
};

/// Calls one after another, which share their caches.
using VerifyCase = std::vector<VerifyCall>;

/// How long the sequences of calls are.
enum class CallLengths {
  Short, ///< 1, 3 and 5 tokens: for a check after each pass
  Panel  ///< 33 tokens, more than a panel of keys
};

/// Makes the calls of all entries of a module of attn. Sizes are cut to those
/// that the model takes. An encoder-decoder's sources are called before its
/// steps.
Result<std::vector<VerifyCase>> makeCalls(mlir::ModuleOp module,
                                          CallLengths lengths);

} // namespace transom
