// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runs in which order: layers and phases.
#ifndef TRANSOM_DIALECTS_KERN_KERNCONTROLOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNCONTROLOPS_TD

include "dialects/kern/KernBase.td"

def Kern_LayersOp : Kern_Op<"layers", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs layer bodies one after another on one state buffer";
  let description = [{
    A layer names a body, a private function, and the weights and caches for its
    trailing arguments. A body takes the state, the invariants and the layer's
    parameters, and updates the state in place. It may also update a buffer among
    the invariants that follows the state: a copy of it in bf16. A body has one
    call site.

    Constraints:
    1. A body is a function without results.
    2. Its arguments are the state, the invariants and the layer's parameters, of
       these types.
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
    /// The layers in the order in which they run.
    auto getLayerRange() { return getLayers().getAsRange<LayerAttr>(); }
    /// The first layer.
    LayerAttr getFirstLayer() { return ::llvm::cast<LayerAttr>(getLayers()[0]); }
    void setLayers(::llvm::ArrayRef<LayerAttr> layers);
    /// The body of a layer; null where the symbol is not a function.
    ::mlir::func::FuncOp getBody(LayerAttr layer,
                                 ::mlir::SymbolTableCollection &symbols);
    ::mlir::func::FuncOp getBody(LayerAttr layer,
                                 const ::mlir::SymbolTable &symbols);
    /// The index of a body's first parameter after the state and invariants.
    unsigned getFirstParameter() { return 1 + getInvariants().size(); }
    /// The index among a layer's parameters of an argument of its body.
    unsigned getParameterIndex(::mlir::Value argument);
    /// The weight or cache that a layer gives to an argument of its body.
    ::mlir::FlatSymbolRefAttr getParameter(LayerAttr layer, ::mlir::Value argument);
  }];
}

def Kern_PhaseOp : Kern_Op<"phase", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "operations that run without a barrier between them";
  let description = [{
    All workers finish a phase before one begins the next. The exception is an
    attention with `head_ranges`, whose operands products of the phase before make:
    its heads are this many ranges of equal size, and the columns of each range
    are whole panels of 32. In a call of one sequence that is too short for
    workers to own rows, and with a number of workers that divides that of the
    ranges, each worker has whole ranges in both phases, and there is no barrier
    between them.

    Constraints:
    1. The name is not empty.
    2. It holds operations on buffers only.
    3. A `kern.onednn` is alone.
    4. No operation uses a bounded size that another one of the phase writes.
    5. With `head_ranges` it holds one `kern.attention` without a cache alone,
       whose `kv_heads` are a multiple of it, and comes after a phase.
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
    /// A phase that all workers wait before.
    OpBuilder<(ins "::mlir::StringAttr":$name), [{
      build($_builder, $_state, name, ::mlir::IntegerAttr());
    }]>
  ];
  let extraClassDeclaration = [{
    /// The phase between which and this one some calls have no barrier, else
    /// null.
    PhaseOp getJoinedPhase();
    /// The call when a library does this phase, else null.
    OneDnnOp getCall();
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name (`head_ranges` $head_ranges^)? $body attr-dict";
  let hasVerifier = 1;
}

#endif // TRANSOM_DIALECTS_KERN_KERNCONTROLOPS_TD
