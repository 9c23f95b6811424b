// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface by which shapes are inferred and verified with one rule.
#ifndef TRANSOM_DIALECTS_ATTN_ATTNINTERFACES_TD
#define TRANSOM_DIALECTS_ATTN_ATTNINTERFACES_TD

include "mlir/IR/OpBase.td"

def Attn_ShapeInferable : OpInterface<"ShapeInferable"> {
  let cppNamespace = "::transom::attn";
  let description = [{
    An operation whose result types follow from its operands and attributes. The
    rule is used in four ways:
    - the assembly form leaves result types out, and the parser infers them;
    - importers and passes make a result as `tensor<*xT>` and set the inferred
      type;
    - the pass `attn-infer-shapes` replaces unranked results of a module;
    - the verifier compares a ranked result with the inferred type.
  }];
  let methods = [InterfaceMethod<
    [{Gives the result types, or emits an error on the operation through
      `emitError` that names both shapes and fails. Operands are ranked and have
      shape encodings when this is called.}],
    "::mlir::FailureOr<::llvm::SmallVector<::mlir::Type>>", "inferShapes",
    (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>];
  let verify = [{ return ::transom::attn::detail::verifyInferredShapes($_op); }];
}

def Attn_TokenwiseOpInterface : OpInterface<"TokenwiseOpInterface"> {
  let cppNamespace = "::transom::attn";
  let description = [{
    An operation each of whose output rows depends on the same row of its inputs
    alone. So it gives the same rows for `[batch, seq, ...]` as for the ragged
    `[tokens, ...]`, and padding can be removed in front of it.
  }];
  let methods = [
    InterfaceMethod<
      "The operand whose rows are tokens.",
      "::mlir::Value", "getTokenInput", (ins), [{}],
      [{ return $_op->getOperand(0); }]>,
    InterfaceMethod<
      [{How many dimensions at the end of the token input one row has at least:
        1 for an operation along the last dimension, else 0.}],
      "int64_t", "getMinRowRank", (ins), [{}], [{ return 1; }]>,
    InterfaceMethod<
      "True for an operation on single elements whose operands broadcast.",
      "bool", "isElementwise", (ins), [{}], [{ return false; }]>];
}

def Attn_RowwiseOpInterface : OpInterface<"RowwiseOpInterface"> {
  let cppNamespace = "::transom::attn";
  let description = [{
    An operation that is not tokenwise, but gives each token its row without
    those of other tokens for some operands and attributes, such as a transpose
    that leaves batch and length in place.
  }];
  let methods = [
    InterfaceMethod<
      "What keeps the operation from working on rows.",
      "::transom::attn::RowObstacle", "getRowObstacle",
      (ins "const ::transom::attn::RowQuery &":$rows)>,
    InterfaceMethod<
      [{Adapts axes and shapes once the operands are rows, which have one
        leading dimension in place of batch and length.}],
      "void", "adaptToRows", (ins)>,
    InterfaceMethod<
      [{True if a row may depend on other rows of the operands though the
        result is `[rows, ...]`. A decoder refuses such an operation.}],
      "bool", "mixesRows", (ins), [{}], [{ return false; }]>];
}

#endif // TRANSOM_DIALECTS_ATTN_ATTNINTERFACES_TD
