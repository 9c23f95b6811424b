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
    An operation whose result types follow from its operands and attributes.
    The importers leave results as `tensor<*xT>`; the pass `infer-shapes` fills
    them in; the verifier compares a ranked result with the same rule.
  }];
  let methods = [InterfaceMethod<
    [{Gives the result types, or emits an error on the operation through
      `emitError` that names both shapes and fails. Operands are ranked and have
      shape encodings when this is called.}],
    "::mlir::FailureOr<::llvm::SmallVector<::mlir::Type>>", "inferShapes",
    (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>];
  let verify = [{ return ::transom::attn::detail::verifyInferredShapes($_op); }];
}

#endif // TRANSOM_DIALECTS_ATTN_ATTNINTERFACES_TD
