// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Custom directives in the attn assembly formats: short types, such as
// `[batch, seq, 64] f32`, sizes, and layer lists. Private to the dialect.
#pragma once
#include "dialects/attn/Attn.h"

namespace transom::attn {

/// A type; a tensor with named sizes is written `[batch, seq, 64] f32`, a
/// ragged batch `<rows, keys>`.
mlir::ParseResult parseShortType(mlir::AsmParser &parser, mlir::Type &type);
void printShortType(mlir::AsmPrinter &printer, mlir::Type type);

/// Operand types; a single type can represent several equal ones. The last
/// operand may be absent if `lastIsOptional`.
mlir::ParseResult parseTypeList(mlir::AsmParser &parser,
                                llvm::ArrayRef<mlir::Type *> types,
                                bool lastIsOptional);
void printTypeList(mlir::AsmPrinter &printer, llvm::ArrayRef<mlir::Type> types,
                   bool lastIsOptional);

//===----------------------------------------------------------------------===//
// Directives
//===----------------------------------------------------------------------===//

/// `custom<Types>(type($a), type($b), ...)`: required operands.
template <typename... Types>
mlir::ParseResult parseTypes(mlir::OpAsmParser &parser, Types &...types) {
  return parseTypeList(parser, {&types...}, /*lastIsOptional=*/false);
}
template <typename... Types>
void printTypes(mlir::OpAsmPrinter &printer, mlir::Operation *,
                Types... types) {
  printTypeList(printer, {mlir::Type(types)...}, /*lastIsOptional=*/false);
}

/// `custom<OptionalTypes>(type($a), ..., type($z))`: the last one is optional.
template <typename... Types>
mlir::ParseResult parseOptionalTypes(mlir::OpAsmParser &parser,
                                     Types &...types) {
  return parseTypeList(parser, {&types...}, /*lastIsOptional=*/true);
}
template <typename... Types>
void printOptionalTypes(mlir::OpAsmPrinter &printer, mlir::Operation *,
                        Types... types) {
  printTypeList(printer, {mlir::Type(types)...}, /*lastIsOptional=*/true);
}

/// `custom<VariadicTypes>(type($inputs))`: one type for each operand.
mlir::ParseResult parseVariadicTypes(mlir::OpAsmParser &parser,
                                     llvm::SmallVectorImpl<mlir::Type> &types);
void printVariadicTypes(mlir::OpAsmPrinter &printer, mlir::Operation *,
                        mlir::TypeRange types);

/// `custom<SymbolType>($type)`: a symbol type.
mlir::ParseResult parseSymbolType(mlir::OpAsmParser &parser,
                                  mlir::TypeAttr &type);
void printSymbolType(mlir::OpAsmPrinter &printer, mlir::Operation *,
                     mlir::TypeAttr type);

/// `custom<Size>($size)`: `2*batch`.
mlir::ParseResult parseSize(mlir::OpAsmParser &parser, SizeAttr &size);
void printSize(mlir::OpAsmPrinter &printer, mlir::Operation *, SizeAttr size);

/// `custom<Layers>($layers)`: `[@layer(@w0), @layer(@w1)]`.
mlir::ParseResult parseLayers(mlir::OpAsmParser &parser,
                              mlir::ArrayAttr &layers);
void printLayers(mlir::OpAsmPrinter &printer, mlir::Operation *,
                 mlir::ArrayAttr layers);

} // namespace transom::attn
