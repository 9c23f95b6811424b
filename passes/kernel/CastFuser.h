// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lets the producer of a buffer round it in place of a `kern.cast` to bf16, or
// of a `kern.quantize` to whole numbers.
#pragma once
#include "dialects/kern/Kern.h"
#include "passes/Remarks.h"

namespace transom {

/// What a `kern.cast` or a `kern.quantize` makes of its input, operand 0;
/// nothing for other operations.
std::optional<kern::RoundedBuffer> getRounded(mlir::Operation *op);

/// Fuses one `kern.cast` or `kern.quantize` into what writes its input; one
/// that was fused is gone.
class CastFuser {
public:
  explicit CastFuser(mlir::Operation *rounding);

  /// Why the operation stays, or nothing when it is fused.
  std::optional<RemarkReason> fuse();

private:
  /// True when nothing else reads the input.
  bool isOnlyReader();
  /// Moves what is written before its new writer.
  void moveTargets(mlir::Operation *writer);
  /// Removes the operation; with it the buffer that it read, if nobody needs
  /// that, nor writes it.
  void erase(bool withInput);

  mlir::Operation *rounding;
  mlir::Value input;
  kern::RoundedBuffer target;
};

/// The last operation before `op` in its block that writes this storage.
mlir::Operation *lastWriterBefore(mlir::Operation *op, mlir::Value storage);

/// True for what writes the storage of this buffer.
bool writes(mlir::Operation &op, mlir::Value storage);

} // namespace transom
