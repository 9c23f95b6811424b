// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fuses a `kern.cast` to bf16, or a `kern.quantize` to integers, into the
// operation that writes its input.
#pragma once
#include "dialects/kern/Kern.h"
#include "passes/Remarks.h"

namespace transom {

/// The results of a `kern.cast` or a `kern.quantize` for its input, operand 0;
/// nullopt for other operations.
std::optional<kern::RoundedBuffer> getRounded(mlir::Operation *op);

/// Fuses one `kern.cast` or `kern.quantize` into the writer of its input. A
/// fused operation is erased.
class CastFuser {
public:
  explicit CastFuser(mlir::Operation *rounding);

  /// Returns the reason why the operation remains, or nullopt if it is fused.
  std::optional<RemarkReason> fuse();

private:
  /// True if no other operation reads the input.
  bool isOnlyReader();
  /// Moves the output definitions before their new writer.
  void moveTargets(mlir::Operation *writer);
  /// Erases the operation; `withInput`: also its input buffer, if unused.
  void erase(bool withInput);

  mlir::Operation *rounding;
  mlir::Value input;
  kern::RoundedBuffer target;
};

/// The last operation before `op` in its block that writes this storage.
mlir::Operation *lastWriterBefore(mlir::Operation *op, mlir::Value storage);

/// True if the operation writes this buffer's storage.
bool writes(mlir::Operation &op, mlir::Value storage);

} // namespace transom
