// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weight expression dialect: one attribute, no operations or types.
#ifndef TRANSOM_DIALECTS_WEIGHTS_WEIGHTSDIALECT_TD
#define TRANSOM_DIALECTS_WEIGHTS_WEIGHTSDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Weights_Dialect : Dialect {
  let name = "weight";
  let cppNamespace = "::transom::weights";
  let summary = "expressions over the tensors in a model's files";
  let description = [{
    Weights never enter the IR. An operation that defines a weight has a
    `#weight.expr` attribute, which specifies how to compute the weight from the
    tensors in the model's files. `dialects/weights` implements the expressions, their
    parser, their printer and their evaluation.
  }];
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attribute,
                        ::mlir::DialectAsmPrinter &printer) const override;
  }];
}

def Weights_ExprAttr : AttrDef<Weights_Dialect, "Expr"> {
  let mnemonic = "expr";
  let hasCustomAssemblyFormat = 1;
  let summary = "a weight as an expression over file tensors";
  let description = [{
    The string between the angle brackets is a `transom::WeightExpr` in canonical
    form, so equal expressions are equal attributes.

    Constraints:
    1. The string is a valid weight expression.

    Example: `#weight.expr<concat(0, file("query.weight"), file("key.weight"))>`
  }];
  let parameters = (ins StringRefParameter<"canonical text">:$text);
  let skipDefaultBuilders = 1;
  let builders = [AttrBuilder<(ins "const ::transom::WeightExpr &":$expr)>];
  let extraClassDeclaration = [{
    /// Returns the attribute for an expression string, or the parser's error.
    static ::transom::Result<ExprAttr> parseText(::mlir::MLIRContext *context,
                                                 ::llvm::StringRef text);
    /// Returns the expression.
    ::transom::WeightExpr getExpr() const;
    /// Returns the canonical string.
    std::string str() const { return getText().str(); }
  }];
}

#endif // TRANSOM_DIALECTS_WEIGHTS_WEIGHTSDIALECT_TD
