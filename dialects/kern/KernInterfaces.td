// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface by which passes see what an operation reads and writes.
#ifndef TRANSOM_DIALECTS_KERN_KERNINTERFACES_TD
#define TRANSOM_DIALECTS_KERN_KERNINTERFACES_TD

include "mlir/IR/OpBase.td"

def Kern_BufferOp : OpInterface<"BufferOp"> {
  let cppNamespace = "::transom::kern";
  let description = [{ An operation that reads and writes buffers. }];
  let methods = [
    InterfaceMethod<"Buffers it reads.", "::llvm::SmallVector<::mlir::Value>", "readBuffers">,
    InterfaceMethod<"Buffers it writes wholly or in part.", "::llvm::SmallVector<::mlir::Value>", "writtenBuffers">,
    InterfaceMethod<[{
      The row space in which its work is shared out when each part touches only
      its own rows of every buffer that has this many rows; nothing when parts
      are cut otherwise.}], "::std::optional<::transom::Polynomial>", "ownedRows">,
    InterfaceMethod<"Floating-point operations of one run.", "::transom::Polynomial", "flops">
  ];
}

#endif // TRANSOM_DIALECTS_KERN_KERNINTERFACES_TD
