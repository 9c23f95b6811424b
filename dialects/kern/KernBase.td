// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Base classes of the operations of kern.
#ifndef TRANSOM_DIALECTS_KERN_KERNBASE_TD
#define TRANSOM_DIALECTS_KERN_KERNBASE_TD

include "dialects/kern/KernDialect.td"
include "dialects/kern/KernInterfaces.td"
include "dialects/weights/WeightsDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Kern_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kern_Dialect, mnemonic, traits>;

/// Defines what other operations use: comes before all phases.
def Kern_Definition : NativeOpTrait<"IsDefinition"> {
  let cppNamespace = "::transom::kern";
}

/// Reads and writes buffers; operands named `outs` are written. `methods` are
/// those with a default in the interface that the operation defines itself. The
/// interface also gives the memory effects.
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
