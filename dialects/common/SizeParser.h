// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Textual form for symbolic sizes in dialect attributes and types: terms made
// from integers and symbols, `batch*seq+31*batch`.
#pragma once
#include "mlir/IR/OpImplementation.h"
#include "runtime/base/Polynomial.h"
#include "llvm/ADT/StringExtras.h"

namespace transom {

/// Prints the canonical text for a size, with `-x` as `-1*x`: the lexer reads a
/// minus only before digits.
inline void printPolynomial(mlir::AsmPrinter &printer, llvm::StringRef text) {
  for (size_t i = 0; i < text.size(); ++i) {
    printer << text.substr(i, 1);
    if (text[i] == '-' && i + 1 < text.size() && !llvm::isDigit(text[i + 1]))
      printer << "1*";
  }
}

/// `2*batch*seq`, after its sign; adds the product to `sum`.
inline mlir::ParseResult parseTerm(mlir::AsmParser &parser, Polynomial &sum) {
  Polynomial product(1);
  do {
    int64_t number = 0;
    mlir::OptionalParseResult integer = parser.parseOptionalInteger(number);
    if (integer.has_value()) {
      if (mlir::failed(*integer))
        return mlir::failure();
      product = product * Polynomial(number);
      continue;
    }
    llvm::StringRef name;
    if (parser.parseOptionalKeyword(&name))
      return parser.emitError(parser.getCurrentLocation(),
                              "expects a symbol or integer in a size");
    product = product * Polynomial::symbol(name.str());
  } while (mlir::succeeded(parser.parseOptionalStar()));
  sum = sum + product;
  return mlir::success();
}

/// One dimension: terms joined by `+`, or by a negative coefficient.
inline mlir::ParseResult parsePolynomial(mlir::AsmParser &parser,
                                         Polynomial &sum) {
  sum = Polynomial();
  if (parseTerm(parser, sum))
    return mlir::failure();
  while (true) {
    if (mlir::succeeded(parser.parseOptionalPlus())) {
      if (parseTerm(parser, sum))
        return mlir::failure();
      continue;
    }
    int64_t number = 0;
    mlir::OptionalParseResult integer = parser.parseOptionalInteger(number);
    if (!integer.has_value())
      return mlir::success();
    if (mlir::failed(*integer))
      return mlir::failure();
    Polynomial rest(1);
    if (mlir::succeeded(parser.parseOptionalStar())) {
      rest = Polynomial();
      if (parseTerm(parser, rest))
        return mlir::failure();
    }
    sum = sum + Polynomial(number) * rest;
  }
}

} // namespace transom
