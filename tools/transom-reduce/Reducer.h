// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shrinks a reproducer's module while it fails in the same way. MLIR's
// `reduction-tree` is not used: it prints each invalid candidate and crashes on
// values that lose their definition.
#pragma once
#include "compiler/pipeline/Reproducer.h"
#include <functional>

namespace transom {

/// Tries changes to a module one by one and keeps a change if the pipeline
/// still reports the same error.
class Reducer {
public:
  /// `progress` is called with the op count after each round.
  explicit Reducer(Reproducer &reproducer,
                   std::function<void(size_t)> progress);

  /// Reduces until no change is kept. Fails with `Rejected` if the pipeline
  /// does not fail.
  Result<void> run();

private:
  /// Changes the op with this number; returns false if the change does not
  /// apply.
  using Change = bool (*)(mlir::Operation *op);

  /// Tries a change at each op, the last one first.
  bool tryEverywhere(Change change);
  bool tryAt(size_t number, Change change);

  Reproducer &reproducer;
  std::function<void(size_t)> progress;
  std::string failure; ///< the original error
};

} // namespace transom
