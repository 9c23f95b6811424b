// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Base classes for the attn operations.
#ifndef TRANSOM_DIALECTS_ATTN_ATTNBASE_TD
#define TRANSOM_DIALECTS_ATTN_ATTNBASE_TD

include "dialects/attn/AttnDialect.td"
include "dialects/attn/AttnInterfaces.td"
include "dialects/weights/WeightsDialect.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Attn_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attn_Dialect, mnemonic, traits>;

/// An operation with the shape rule `inferShapes`. Its assembly format contains
/// operand types only.
class Attn_InferredOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<Attn_ShapeInferable>,
         DeclareOpInterfaceMethods<InferTypeOpInterface, ["refineReturnTypes"]>,
         DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>])> {
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
        ::mlir::OpaqueProperties properties, ::mlir::RegionRange,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return detail::inferReturnTypes({location, getOperationName(), operands,
                                       attributes, properties}, types);
    }
    // `ShapeInferable` verifies the result types.
    ::llvm::LogicalResult $cppClass::refineReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location>,
        ::mlir::ValueRange, ::mlir::DictionaryAttr, ::mlir::OpaqueProperties,
        ::mlir::RegionRange, ::llvm::SmallVectorImpl<::mlir::Type> &) {
      return ::mlir::success();
    }
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) {
      detail::nameResultByLocation(getOperation(), setName);
    }
  }];
}

/// An operation with inferred shapes and no side effects.
class Attn_ShapedOp<string mnemonic, list<Trait> traits = []>
    : Attn_InferredOp<mnemonic, !listconcat(traits, [Pure])>;

/// An operation whose output rows each depend only on the same row in the inputs;
/// a row in its first operand has at least `minRowRank` dimensions.
class Attn_TokenwiseOp<string mnemonic, int minRowRank>
    : Attn_ShapedOp<mnemonic, [Attn_TokenwiseOpInterface]> {
  let extraClassDeclaration = [{
    int64_t getMinRowRank() { return }] # minRowRank # [{; }
  }];
}

/// An elementwise operation; its operands broadcast as in NumPy.
class Attn_ElementwiseOp<string mnemonic>
    : Attn_ShapedOp<mnemonic, [Attn_TokenwiseOpInterface]> {
  let extraClassDeclaration = [{
    int64_t getMinRowRank() { return 0; }
    bool isElementwise() { return true; }
  }];
}

#endif // TRANSOM_DIALECTS_ATTN_ATTNBASE_TD
