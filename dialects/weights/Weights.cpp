// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The assembly form of `#weight.expr`. The text in the angle brackets is parsed
// by the weight expression parser, which defines all operations.
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

/// Only the parser for a complete dialect attribute has the raw text; it calls
/// `WeightsDialect::parseAttribute`.
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
  // For anything but `expr<...>` the generated parser reports an error.
  StringRef text = parser.getFullSymbolSpec();
  if (!text.consume_front("expr<") || !text.consume_back(">")) {
    StringRef mnemonic;
    Attribute none;
    if (!generatedAttributeParser(parser, &mnemonic, type, none).has_value())
      parser.emitError(parser.getNameLoc())
          << "unknown weight attribute '" << mnemonic << "'; supported: expr";
    return {};
  }

  // Pass the text in the angle brackets to the expression parser.
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
