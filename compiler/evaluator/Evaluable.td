// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface through which the reference evaluator runs an operation.
#ifndef TRANSOM_COMPILER_EVALUATOR_EVALUABLE_TD
#define TRANSOM_COMPILER_EVALUATOR_EVALUABLE_TD

include "mlir/IR/OpBase.td"

def Evaluable : OpInterface<"Evaluable"> {
  let cppNamespace = "::transom";
  let description = [{
    An operation that the reference evaluator can run. Dialects do not depend on
    it: `attachEvaluators` attaches the external models.
  }];
  let methods = [InterfaceMethod<
    [{Computes the results from the operands; the evaluation stores both.}],
    "::transom::Result<void>", "evaluate",
    (ins "::transom::Evaluation &":$evaluation)>];
}

#endif // TRANSOM_COMPILER_EVALUATOR_EVALUABLE_TD
