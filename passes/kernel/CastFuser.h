// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lets the producer of a buffer round it to bf16 in place of a `kern.cast`.
#pragma once
#include "dialects/kern/Kern.h"
#include "passes/Remarks.h"

namespace transom {

/// Fuses one `kern.cast` into what writes its input; a cast that was fused is
/// gone.
class CastFuser {
public:
  explicit CastFuser(kern::CastOp rounding);

  /// Why the cast stays, or nothing when it is fused.
  std::optional<RemarkReason> fuse();

private:
  /// True when nothing but the cast reads its input.
  bool isOnlyReader();
  /// Moves the target before its new writer.
  void moveTarget(mlir::Operation *writer);
  /// Removes the cast; with it the buffer that it read, if nobody needs that.
  void erase(bool withInput);

  kern::CastOp rounding;
  mlir::Value input, target;
};

/// The last operation before `op` in its block that writes this storage.
mlir::Operation *lastWriterBefore(mlir::Operation *op, mlir::Value storage);

/// True for what writes the storage of this buffer.
bool writes(mlir::Operation &op, mlir::Value storage);

} // namespace transom
