// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The activation function attribute, for each dialect that needs one. The
// functions are listed in runtime/base/Activation.h.
#ifndef TRANSOM_DIALECTS_COMMON_ACTIVATION_TD
#define TRANSOM_DIALECTS_COMMON_ACTIVATION_TD

include "mlir/IR/AttrTypeBase.td"

def Transom_ActivationParameter
    : AttrParameter<"::transom::Activation", "an activation function"> {
  let parser = "::transom::parseActivation($_parser)";
  let printer = "$_printer << ::llvm::StringRef(::transom::getActivationName($_self))";
}

/// `<gelu>`: op accessors and builders take `transom::Activation`.
class Transom_ActivationAttr<Dialect dialect> : AttrDef<dialect, "Activation"> {
  let mnemonic = "activation";
  let summary = "an activation function";
  let parameters = (ins Transom_ActivationParameter:$value);
  let assemblyFormat = "`<` $value `>`";
  let returnType = "::transom::Activation";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall =
      dialect.cppNamespace # "::ActivationAttr::get($_builder.getContext(), $0)";
}

#endif // TRANSOM_DIALECTS_COMMON_ACTIVATION_TD
