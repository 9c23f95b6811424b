// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures GEMM input magnitudes on sample texts, so that quantization
// minimizes the error where they are large.
#pragma once
#include "compiler/import/Import.h"
#include "dialects/weights/Importance.h"

namespace transom {

/// Evaluates the imported module in float64 on each line of the file: a text
/// that the tokenizer in `tables` encodes, truncated to `maxTokens` (0: no
/// limit). Returns, for each file tensor that a GEMM multiplies by, the mean
/// square of each GEMM input column.
///
/// A column has at least a thousandth of the tensor's mean. The mean squares
/// are rounded to bf16 (eight significant bits), which removes the low float64
/// bits that depend on the C library.
///
/// Errors: `Unavailable` for a file that cannot be read; `Rejected` for a file
/// without texts, and, with its line, for a text that is not UTF-8;
/// `Unsupported` for a model with inputs other than token ids.
Result<Importance> calibrate(mlir::ModuleOp module, const ImportInfo &info,
                             const std::string &tables, int64_t maxTokens,
                             const std::string &file);

} // namespace transom
