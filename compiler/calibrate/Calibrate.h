// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a model on texts and gathers how large what its products multiply is,
// so that weights are quantized best where that is large.
#pragma once
#include "compiler/import/Import.h"
#include "dialects/weights/Importance.h"

namespace transom {

/// Evaluates the imported module in float64 on each line of the file, a text
/// that the tokenizer of `tables` encodes, cut to `maxTokens` (0: no limit).
/// Gives for each file tensor that products multiply by the mean square of the
/// columns of their inputs.
///
/// A column counts at least a thousandth of the mean of all of its tensor.
/// The mean squares are rounded to the eight bits of bf16: the last bits of
/// float64, in which the C libraries of machines differ, are not in them.
///
/// `Unavailable` for a file that cannot be read, `Rejected` for one without
/// texts, and for a text that is not UTF-8, with its line; `Unsupported` for a
/// model that does not take token ids alone.
Result<Importance> calibrate(mlir::ModuleOp module, const ImportInfo &info,
                             const std::string &tables, int64_t maxTokens,
                             const std::string &file);

} // namespace transom
