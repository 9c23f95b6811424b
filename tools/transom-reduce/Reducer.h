// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the module of a reproducer smaller while it fails in the same way.
// MLIR's `reduction-tree` is not used: it prints each invalid candidate and
// crashes on values that lose their definition.
#pragma once
#include "compiler/pipeline/Reproducer.h"
#include <functional>

namespace transom {

/// Tries changes of a module one by one and keeps those with which the pipeline
/// gives the same error.
class Reducer {
public:
  /// `progress` is called after each round with the number of operations.
  explicit Reducer(Reproducer &reproducer,
                   std::function<void(size_t)> progress);

  /// Reduces until no change is kept any more. `Rejected` if the pipeline does
  /// not fail.
  Result<void> run();

private:
  /// Changes the operation with this number; false if the change does not
  /// apply to it.
  using Change = bool (*)(mlir::Operation *op);

  /// Tries a change at each operation, the last one first.
  bool tryEverywhere(Change change);
  bool tryAt(size_t number, Change change);

  Reproducer &reproducer;
  std::function<void(size_t)> progress;
  std::string failure; ///< of the original
};

} // namespace transom
