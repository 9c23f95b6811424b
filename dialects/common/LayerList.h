// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Textual form for the layers of `attn.layers` and `kern.layers`:
// `[@body(@weight, ...), @body]`. `LayerAttr` is the dialect's attribute for a
// body and its parameters.
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace transom {

/// Parses a layer list; each layer has optional parameters in parentheses.
template <typename LayerAttr>
mlir::ParseResult parseLayerList(mlir::OpAsmParser &parser,
                                 mlir::ArrayAttr &layers) {
  llvm::SmallVector<mlir::Attribute> all;
  auto parseLayer = [&]() -> mlir::ParseResult {
    mlir::FlatSymbolRefAttr body;
    llvm::SmallVector<mlir::FlatSymbolRefAttr> parameters;
    if (parser.parseAttribute(body) ||
        parser.parseCommaSeparatedList(
            mlir::AsmParser::Delimiter::OptionalParen,
            [&] { return parser.parseAttribute(parameters.emplace_back()); }))
      return mlir::failure();
    all.push_back(LayerAttr::get(parser.getContext(), body, parameters));
    return mlir::success();
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square,
                                     parseLayer))
    return mlir::failure();
  layers = parser.getBuilder().getArrayAttr(all);
  return mlir::success();
}

/// Prints the same form.
template <typename LayerAttr>
void printLayerList(mlir::OpAsmPrinter &printer, mlir::ArrayAttr layers) {
  printer << "[";
  llvm::interleaveComma(layers.getAsRange<LayerAttr>(), printer,
                        [&](LayerAttr layer) {
                          printer << layer.getBody();
                          if (layer.getParameters().empty())
                            return;
                          printer << "(";
                          llvm::interleaveComma(layer.getParameters(), printer);
                          printer << ")";
                        });
  printer << "]";
}

} // namespace transom
