// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interfaces by which passes see what an operation reads and writes, and
// products with weights.
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
      The number of rows that workers share when each touches only its own rows
      of every buffer with this many rows; nothing when work is cut otherwise.}], "::std::optional<::transom::Polynomial>", "ownedRows">,
    InterfaceMethod<"Floating-point operations of one run.", "::transom::Polynomial", "flops">,
    InterfaceMethod<"True when rows of its buffers may be padded (`stride`).",
      "bool", "acceptsStride", (ins), "", "return false;">,
    InterfaceMethod<"True when it reads rows of its weights by index, not all of them.",
      "bool", "gathersWeight", (ins), "", "return false;">,
    InterfaceMethod<"The cache that it reads or writes, null without one.",
      "::mlir::Value", "getAccessedCache", (ins), "", "return {};">,
    InterfaceMethod<"True when it writes its cache.",
      "bool", "writesCache", (ins), "", "return false;">,
    InterfaceMethod<"The bounded size whose value it writes, null without one.",
      "::mlir::FlatSymbolRefAttr", "getWrittenSize", (ins), "", "return {};">,
    InterfaceMethod<[{
      True when it can round what it writes to `out`, a buffer of f32, to bf16
      or to whole numbers: instead of the f32 when they alone are asked for
      (`onlyRounded`), else beside it. Otherwise `obstacle` says why not.}],
      "bool", "canRoundOutput",
      (ins "::mlir::Value":$out, "const ::transom::kern::RoundedBuffer &":$rounded, "bool":$onlyRounded,
           "::transom::kern::RoundObstacle &":$obstacle), "", [{
      obstacle = ::transom::kern::RoundObstacle::NotSupported;
      return false;
    }]>,
    InterfaceMethod<[{
      Makes it write `rounded` instead of `out`, or beside it; `canRoundOutput`
      holds. By default the operand is replaced.}],
      "void", "roundOutput",
      (ins "::mlir::Value":$out, "const ::transom::kern::RoundedBuffer &":$rounded, "bool":$onlyRounded), "", [{
      for (::mlir::OpOperand &operand : $_op->getOpOperands())
        if (operand.get() == out)
          operand.set(rounded.numbers);
    }]>
  ];
}

def Kern_WeightProductOp : OpInterface<"WeightProductOp"> {
  let cppNamespace = "::transom::kern";
  let description = [{
    A product of rows with a weight in any format, in groups too: then it reads
    whole numbers and their scales, or rows of f32.
  }];
  let methods = [
    InterfaceMethod<"The rows.", "::mlir::OpOperand &", "getInputMutable">,
    InterfaceMethod<"Scales of rows of whole numbers.", "::mlir::MutableOperandRange", "getInputScalesMutable">,
    InterfaceMethod<"The weight [n, k].", "::mlir::TypedValue<::transom::kern::WeightType>", "getWeight">
  ];
  let extraSharedClassDeclaration = [{
    ::mlir::Value getInputRows() { return $_op.getInputMutable().get(); }
    ::transom::kern::WeightType getWeightType() { return $_op.getWeight().getType(); }
  }];
}

#endif // TRANSOM_DIALECTS_KERN_KERNINTERFACES_TD
