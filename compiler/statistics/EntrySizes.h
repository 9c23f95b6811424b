// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values for the symbols in an entry that is not compiled.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/base/Polynomial.h"
#include <map>

namespace transom {

/// Values for shape and cost symbols in an entry, for a call with sequences
/// that have equal length and no padding. Sources have the same length.
class EntrySizes {
public:
  explicit EntrySizes(mlir::func::FuncOp entry);

  /// Evaluates a formula. With `allTokens` a step returns results for all
  /// tokens, instead of only the last in each sequence. Returns nullopt on
  /// overflow.
  std::optional<int64_t> evaluate(const Polynomial &formula, int64_t batch,
                                  int64_t length, bool allTokens = false) const;

private:
  enum class Size { Batch, Length, Tokens, Results };

  std::map<std::string, Size> sizes;
  std::string rows; ///< symbol of a step's new tokens; empty: no step
};

/// Returns the model's max sequence length, if it has one.
std::optional<int64_t> getMaxLength(mlir::ModuleOp module);

} // namespace transom
