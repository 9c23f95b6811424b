// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values for the symbols of an entry that is not compiled.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/base/Polynomial.h"
#include <map>

namespace transom {

/// The values of the symbols of shapes and costs of an entry, in a call with
/// sequences of equal length without padding. Sources are as long as the
/// sequences.
class EntrySizes {
public:
  explicit EntrySizes(mlir::func::FuncOp entry);

  /// The value of a formula. `allTokens`: a step gives results for all tokens,
  /// not only for the last of each sequence. Nothing on overflow.
  std::optional<int64_t> evaluate(const Polynomial &formula, int64_t batch,
                                  int64_t length, bool allTokens = false) const;

private:
  enum class Size { Batch, Length, Tokens, Results };

  std::map<std::string, Size> sizes;
  std::string rows; ///< symbol of a step's new tokens; empty: no step
};

/// The greatest length of sequences of a model, if it has one.
std::optional<int64_t> getMaxLength(mlir::ModuleOp module);

} // namespace transom
