// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interfaces for passes: buffers that an operation reads and writes, and GEMMs
// with weights.
#ifndef TRANSOM_DIALECTS_KERN_KERNINTERFACES_TD
#define TRANSOM_DIALECTS_KERN_KERNINTERFACES_TD

include "mlir/IR/OpBase.td"

def Kern_BufferOp : OpInterface<"BufferOp"> {
  let cppNamespace = "::transom::kern";
  let description = [{ An operation that reads and writes buffers. }];
  let methods = [
    InterfaceMethod<"Returns the buffers that it reads.", "::llvm::SmallVector<::mlir::Value>", "readBuffers">,
    InterfaceMethod<"Returns the buffers that it writes, partially or completely.", "::llvm::SmallVector<::mlir::Value>", "writtenBuffers">,
    InterfaceMethod<[{
      Returns the row count if each worker accesses only its own rows in all buffers
      with this many rows; nullopt if work is split differently.}], "::std::optional<::transom::Polynomial>", "ownedRows">,
    InterfaceMethod<"Returns the floating-point operations per run.", "::transom::Polynomial", "flops">,
    InterfaceMethod<"Returns true if its buffer rows may be padded (`stride`).",
      "bool", "acceptsStride", (ins), "", "return false;">,
    InterfaceMethod<"Returns true if it reads only some weight rows, by index.",
      "bool", "gathersWeight", (ins), "", "return false;">,
    InterfaceMethod<"Returns the cache that it reads or writes; null without one.",
      "::mlir::Value", "getAccessedCache", (ins), "", "return {};">,
    InterfaceMethod<"Returns true if it writes its cache.",
      "bool", "writesCache", (ins), "", "return false;">,
    InterfaceMethod<"Returns the bounded size that it writes; null without one.",
      "::mlir::FlatSymbolRefAttr", "getWrittenSize", (ins), "", "return {};">,
    InterfaceMethod<[{
      Returns true if it can round its f32 output `out` to bf16 or to quantized
      values: instead of f32 if only the rounded values are needed (`onlyRounded`),
      else in addition. Otherwise `obstacle` is set to the reason.}],
      "bool", "canRoundOutput",
      (ins "::mlir::Value":$out, "const ::transom::kern::RoundedBuffer &":$rounded, "bool":$onlyRounded,
           "::transom::kern::RoundObstacle &":$obstacle), "", [{
      obstacle = ::transom::kern::RoundObstacle::NotSupported;
      return false;
    }]>,
    InterfaceMethod<[{
      Makes it write `rounded` instead of `out`, or in addition. Requires
      `canRoundOutput`. By default the operand is replaced.}],
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
    A GEMM of rows and a weight in any format. For a grouped weight the rows are
    quantized values with scales, or f32.
  }];
  let methods = [
    InterfaceMethod<"Returns the row operand.", "::mlir::OpOperand &", "getInputMutable">,
    InterfaceMethod<"Returns the scales for quantized rows.", "::mlir::MutableOperandRange", "getInputScalesMutable">,
    InterfaceMethod<"Returns the weight [n, k].", "::mlir::TypedValue<::transom::kern::WeightType>", "getWeight">
  ];
  let extraSharedClassDeclaration = [{
    ::mlir::Value getInputRows() { return $_op.getInputMutable().get(); }
    ::transom::kern::WeightType getWeightType() { return $_op.getWeight().getType(); }
  }];
}

#endif // TRANSOM_DIALECTS_KERN_KERNINTERFACES_TD
