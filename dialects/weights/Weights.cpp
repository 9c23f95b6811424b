// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The assembly form of `#weight.expr`. The text between the angle brackets goes
// to the parser of runtime/weights, which knows all operations.
#include "dialects/weights/Weights.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/weights/WeightsDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/weights/WeightsAttrs.cpp.inc"

namespace transom::weights {

void WeightsDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/weights/WeightsAttrs.cpp.inc"
      >();
}

ExprAttr ExprAttr::get(MLIRContext *context, const WeightExpr &expr) {
  return Base::get(context, expr.str());
}

Result<ExprAttr> ExprAttr::parseText(MLIRContext *context, StringRef text) {
  TRANSOM_ASSIGN(WeightExpr expr, WeightExpr::parse(text.str()));
  return get(context, expr);
}

WeightExpr ExprAttr::getExpr() const {
  return *WeightExpr::parse(getText().str());
}

/// The raw text is only known to the parser of a whole dialect attribute, which
/// calls `WeightsDialect::parseAttribute`.
Attribute ExprAttr::parse(AsmParser &parser, Type) {
  parser.emitError(parser.getNameLoc())
      << "expects the form '#weight.expr<EXPRESSION>'";
  return {};
}

void ExprAttr::print(AsmPrinter &printer) const {
  printer << "<" << getText() << ">";
}

Attribute WeightsDialect::parseAttribute(DialectAsmParser &parser,
                                         Type type) const {
  // Anything but `expr<...>` is an error of the generated parser.
  StringRef text = parser.getFullSymbolSpec();
  if (!text.consume_front("expr<") || !text.consume_back(">")) {
    StringRef mnemonic;
    Attribute none;
    if (!generatedAttributeParser(parser, &mnemonic, type, none).has_value())
      parser.emitError(parser.getNameLoc())
          << "unknown weight attribute '" << mnemonic << "'; supported: expr";
    return {};
  }

  // Hand the text between the angle brackets to the parser of expressions.
  Result<ExprAttr> expr = ExprAttr::parseText(getContext(), text);
  if (!expr) {
    parser.emitError(parser.getNameLoc())
        << "'#weight.expr' (1) expects a weight expression: "
        << expr.error().message;
    return {};
  }
  return *expr;
}

void WeightsDialect::printAttribute(Attribute attribute,
                                    DialectAsmPrinter &printer) const {
  (void)generatedAttributePrinter(attribute, printer);
}

} // namespace transom::weights
