// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the operations of attn share.
#ifndef TRANSOM_DIALECTS_ATTN_ATTNBASE_TD
#define TRANSOM_DIALECTS_ATTN_ATTNBASE_TD

include "dialects/attn/AttnDialect.td"
include "dialects/attn/AttnInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Attn_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attn_Dialect, mnemonic, traits>;

/// An operation without side effects whose shape rule is `inferShapes`.
class Attn_ShapedOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat(traits,
        [Pure, DeclareOpInterfaceMethods<Attn_ShapeInferable>])>;

#endif // TRANSOM_DIALECTS_ATTN_ATTNBASE_TD
