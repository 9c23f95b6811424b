// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Execution order: layers and phases.
#ifndef TRANSOM_DIALECTS_KERN_KERNCONTROLOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNCONTROLOPS_TD

include "dialects/kern/KernBase.td"

def Kern_LayersOp : Kern_Op<"layers", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs layer bodies sequentially on one state buffer";
  let description = [{
    A layer names a body, a private function, and the weights and caches for its
    trailing arguments. A body takes the state, the invariants and the layer's
    parameters, and updates the state in place. It may also update one of the
    invariants that follows the state: a bf16 copy of it. A body has one call site.

    Constraints:
    1. A body is a function without results.
    2. Its arguments are the state, the invariants and the layer's parameters, with
       the same types.
    3. Parameters are `kern.weight`s or `kern.cache`s.

    Example:
    ```mlir
    kern.weight @w0 : !kern.weight<[8] x f32, rows> = #weight.expr<file("w0")>
    kern.weight @w1 : !kern.weight<[8] x f32, rows> = #weight.expr<file("w1")>
    func.func private @layer(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8] x f32, rows>) {
      kern.norm %x, %w outs(%x) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>,
          !kern.buffer<[rows, 8] x f32>
      return
    }
    func.func @encode(%x: !kern.buffer<[rows, 8] x f32>) {
      kern.layers %x [@layer(@w0), @layer(@w1)] : !kern.buffer<[rows, 8] x f32>
      return
    }
    ```
  }];
  let arguments = (ins Arg<Kern_BufferType, "", [MemRead, MemWrite]>:$state,
                       Arg<Variadic<AnyType>, "", [MemRead, MemWrite]>:$invariants,
                       TypedArrayAttrBase<Kern_LayerAttr, "layers">:$layers);
  let assemblyFormat = [{
    $state (`invariants` `(` $invariants^ `:` type($invariants) `)`)? custom<Layers>($layers)
    attr-dict `:` type($state)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$state, "::mlir::ValueRange":$invariants,
                                 "::llvm::ArrayRef<LayerAttr>":$layers)>];
  let extraClassDeclaration = [{
    /// Returns the layers in execution order.
    auto getLayerRange() { return getLayers().getAsRange<LayerAttr>(); }
    /// Returns the first layer.
    LayerAttr getFirstLayer() { return ::llvm::cast<LayerAttr>(getLayers()[0]); }
    void setLayers(::llvm::ArrayRef<LayerAttr> layers);
    /// Returns a layer's body; null if the symbol is not a function.
    ::mlir::func::FuncOp getBody(LayerAttr layer,
                                 ::mlir::SymbolTableCollection &symbols);
    ::mlir::func::FuncOp getBody(LayerAttr layer,
                                 const ::mlir::SymbolTable &symbols);
    /// Returns the index of a body's first parameter after the state and invariants.
    unsigned getFirstParameter() { return 1 + getInvariants().size(); }
    /// Returns a body argument's index among the layer's parameters.
    unsigned getParameterIndex(::mlir::Value argument);
    /// Returns the weight or cache that a layer passes to a body argument.
    ::mlir::FlatSymbolRefAttr getParameter(LayerAttr layer, ::mlir::Value argument);
  }];
}

def Kern_PhaseOp : Kern_Op<"phase", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "operations that run without a barrier between them";
  let description = [{
    All workers finish a phase before one begins the next. The exception is an
    attention with `head_ranges`, whose operands are computed by GEMMs in the previous
    phase: its heads are split into this many ranges of equal size, and each range's
    columns are whole panels with 32 columns. If a call has one sequence that is too
    short for workers to own rows, and the worker count divides the range count, each
    worker processes whole ranges in both phases, and there is no barrier between them.

    Constraints:
    1. The name is not empty.
    2. It contains only operations on buffers.
    3. A `kern.onednn` is alone.
    4. No operation uses a bounded size that another one in the phase writes.
    5. With `head_ranges` it contains only one `kern.attention` without a cache, whose
       `kv_heads` are a multiple of it, and comes after a phase.
    6. With `head_ranges` query, key and value have a multiple of 32 columns in
       each range.

    Example:
    ```mlir
    kern.phase "encode.0.norm" {
      kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$head_ranges);
  let builders = [
    /// Builds a phase that starts with a barrier.
    OpBuilder<(ins "::mlir::StringAttr":$name), [{
      build($_builder, $_state, name, ::mlir::IntegerAttr());
    }]>
  ];
  let extraClassDeclaration = [{
    /// Returns the previous phase if some calls have no barrier between it and this
    /// one, else null.
    PhaseOp getJoinedPhase();
    /// Returns the library call that this phase consists of, else null.
    OneDnnOp getCall();
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name (`head_ranges` $head_ranges^)? $body attr-dict";
  let hasVerifier = 1;
}

#endif // TRANSOM_DIALECTS_KERN_KERNCONTROLOPS_TD
