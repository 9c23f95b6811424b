// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Base classes for the kern operations.
#ifndef TRANSOM_DIALECTS_KERN_KERNBASE_TD
#define TRANSOM_DIALECTS_KERN_KERNBASE_TD

include "dialects/kern/KernDialect.td"
include "dialects/kern/KernInterfaces.td"
include "dialects/weights/WeightsDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Kern_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kern_Dialect, mnemonic, traits>;

/// Defines a value for other operations; comes before all phases.
def Kern_Definition : NativeOpTrait<"IsDefinition"> {
  let cppNamespace = "::transom::kern";
}

/// Reads and writes buffers; operands named `outs` are written. `methods` lists the
/// interface methods with a default that the operation overrides. The interface also
/// provides the memory effects.
class Kern_BufferizedOp<string mnemonic, list<Trait> traits = [], list<string> methods = []>
    : Kern_Op<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<Kern_BufferOp, methods>,
         DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])> {
  let extraClassDefinition = [{
    void $cppClass::getEffects(Effects &effects) {
      addBufferEffects(*this, effects);
    }
  }];
}

#endif // TRANSOM_DIALECTS_KERN_KERNBASE_TD
