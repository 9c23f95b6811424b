// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoder's step as a function of a batch of whole sequences.
#pragma once
#include "passes/graph/InlineSource.h"

namespace transom {

/// True for the step of a decoder whose caches its own attentions alone use.
/// Its two arguments are the tokens and which of them have results; a third one
/// may list the tokens of other logits.
bool isPlainStep(mlir::func::FuncOp function);

/// Gives symbols in the types and attributes of a function other sizes.
void replaceSymbols(
    mlir::func::FuncOp function,
    llvm::ArrayRef<std::pair<std::string, Polynomial>> replacements);

/// Rewrites a step, see `isPlainStep`: one argument of token ids [batch,
/// length], called `name`, in place of its two, which are the function's last;
/// attention of each sequence to itself in place of growing caches, and to the
/// keys and values of `source` in place of read-only ones; and results [batch,
/// length, ...] of all tokens. All read-only caches of the step are in
/// `source`.
void makeBatchOfStep(mlir::func::FuncOp function, mlir::StringRef name,
                     const Polynomial &batch, const Polynomial &length,
                     const SourceValues &source = {});

} // namespace transom
