// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The logits of listed tokens, as a translator with a lexical shortlist needs
// them.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace transom {

/// Gives the step of a decoder the input `columns` [listed], ids of tokens, and
/// the result `listed_logits` [wanted, listed], their columns of the logits.
/// Callers may then leave out the logits of all tokens. Returns why not, or an
/// empty text.
std::string addListedLogits(mlir::ModuleOp module);

} // namespace transom
