// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interfaces for shape inference and verification, and for row-wise operations.
#ifndef TRANSOM_DIALECTS_ATTN_ATTNINTERFACES_TD
#define TRANSOM_DIALECTS_ATTN_ATTNINTERFACES_TD

include "mlir/IR/OpBase.td"

def Attn_ShapeInferable : OpInterface<"ShapeInferable"> {
  let cppNamespace = "::transom::attn";
  let description = [{
    An operation whose result types are determined by its operands and attributes.
    The rule has four uses:
    - the assembly format omits result types, and the parser infers them;
    - importers and passes create results as `tensor<*xT>` and set the inferred
      type;
    - the pass `attn-infer-shapes` replaces unranked results in a module;
    - the verifier compares ranked results with the inferred types.
  }];
  let methods = [InterfaceMethod<
    [{Returns the result types. On failure it emits an error on the operation
      through `emitError`, which names both shapes. Operands are ranked and have
      shape encodings when this is called.}],
    "::mlir::FailureOr<::llvm::SmallVector<::mlir::Type>>", "inferShapes",
    (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>];
  let verify = [{ return ::transom::attn::detail::verifyInferredShapes($_op); }];
}

def Attn_TokenwiseOpInterface : OpInterface<"TokenwiseOpInterface"> {
  let cppNamespace = "::transom::attn";
  let description = [{
    An operation whose output rows each depend only on the same row in its inputs.
    It computes the same rows for `[batch, seq, ...]` as for the ragged
    `[tokens, ...]`, so padding can be removed before it.
  }];
  let methods = [
    InterfaceMethod<
      "Returns the operand whose rows are tokens.",
      "::mlir::Value", "getTokenInput", (ins), [{}],
      [{ return $_op->getOperand(0); }]>,
    InterfaceMethod<
      [{Returns the minimum number of trailing dimensions in one row of the token
        input: 1 for an operation along the last dimension, else 0.}],
      "int64_t", "getMinRowRank", (ins), [{}], [{ return 1; }]>,
    InterfaceMethod<
      "Returns true for an elementwise operation whose operands broadcast.",
      "bool", "isElementwise", (ins), [{}], [{ return false; }]>];
}

def Attn_RowwiseOpInterface : OpInterface<"RowwiseOpInterface"> {
  let cppNamespace = "::transom::attn";
  let description = [{
    An operation that is not tokenwise, but for some operands and attributes
    computes each token's row independently of other tokens, such as a transpose
    that does not move batch and length.
  }];
  let methods = [
    InterfaceMethod<
      "Returns the reason why the operation cannot work on rows.",
      "::transom::attn::RowObstacle", "getRowObstacle",
      (ins "const ::transom::attn::RowQuery &":$rows)>,
    InterfaceMethod<
      [{Adapts axes and shapes once the operands are rows, which have one leading
        dimension instead of batch and length.}],
      "void", "adaptToRows", (ins)>,
    InterfaceMethod<
      [{Returns true if a row may depend on other operand rows although the result
        is `[rows, ...]`. Decoders reject such an operation.}],
      "bool", "mixesRows", (ins), [{}], [{ return false; }]>];
}

#endif // TRANSOM_DIALECTS_ATTN_ATTNINTERFACES_TD
