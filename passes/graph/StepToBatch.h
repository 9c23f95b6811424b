// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts a decoder step to a function on batched whole sequences.
#pragma once
#include "passes/graph/InlineSource.h"

namespace transom {

/// True for a decoder step whose caches are used only by its own attentions.
/// Its two arguments are the tokens and the logit indices; a third one may list
/// tokens for additional logits.
bool isPlainStep(mlir::func::FuncOp function);

/// Replaces symbols in a function's types and attributes.
void replaceSymbols(
    mlir::func::FuncOp function,
    llvm::ArrayRef<std::pair<std::string, Polynomial>> replacements);

/// Rewrites a step (see `isPlainStep`). One argument `name` with token ids
/// [batch, length] replaces its two arguments, which are the function's last.
/// Attention within each sequence replaces growing caches, and attention to the
/// keys and values in `source` replaces read-only caches; `source` must contain
/// all of them. Results are [batch, length, ...], for all tokens.
void makeBatchOfStep(mlir::func::FuncOp function, mlir::StringRef name,
                     const Polynomial &batch, const Polynomial &length,
                     const SourceValues &source = {});

} // namespace transom
