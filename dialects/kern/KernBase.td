// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Base classes of the operations of kern.
#ifndef TRANSOM_DIALECTS_KERN_KERNBASE_TD
#define TRANSOM_DIALECTS_KERN_KERNBASE_TD

include "dialects/kern/KernDialect.td"
include "dialects/kern/KernInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Kern_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kern_Dialect, mnemonic, traits>;

/// Reads and writes buffers; operands named `outs` are written.
class Kern_BufferizedOp<string mnemonic, list<Trait> traits = []>
    : Kern_Op<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<Kern_BufferOp>])>;

#endif // TRANSOM_DIALECTS_KERN_KERNBASE_TD
