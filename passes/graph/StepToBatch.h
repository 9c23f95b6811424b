// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoder's step as a function of a batch of whole sequences.
#pragma once
#include "passes/graph/GraphSupport.h"

namespace transom {

/// True for the step of a decoder whose caches its own attentions alone use.
/// Its arguments are the tokens and which of them have results.
bool isPlainStep(mlir::func::FuncOp function);

/// Gives symbols in the types and attributes of a function other sizes.
void replaceSymbols(
    mlir::func::FuncOp function,
    llvm::ArrayRef<std::pair<std::string, Polynomial>> replacements);

/// Rewrites a step, see `isPlainStep`: one argument `input_ids` [batch, length]
/// in place of all, attention of each sequence to itself in place of caches,
/// and results [batch, length, ...] of all tokens.
void makeBatchOfStep(mlir::func::FuncOp function, const Polynomial &batch,
                     const Polynomial &length);

} // namespace transom
