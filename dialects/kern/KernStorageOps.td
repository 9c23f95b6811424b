// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage: weights, buffers and buffer views; ragged batches.
#ifndef TRANSOM_DIALECTS_KERN_KERNSTORAGEOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNSTORAGEOPS_TD

include "dialects/kern/KernBase.td"

def Kern_WeightOp : Kern_Op<"weight", [Symbol]> {
  let summary = "defines a packed weight";
  let description = [{
    `expr` is an expression over the tensors in the model's files.
    `kern-pack-weights` sets the layout in the type, and `offset`, the byte offset in
    the artifact's weights.

    Constraints:
    1. The offset is not negative and a multiple of 4.

    Example:
    ```mlir
    kern.weight @q : !kern.weight<[64, 64] x f32, panels32> = #weight.expr<file("q")> {offset = 0 : i64}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Kern_WeightType>:$type, Weights_ExprAttr:$expr,
                       OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = "$sym_name `:` $type `=` qualified($expr) attr-dict";
  let hasVerifier = 1;
}

def Kern_GetWeightOp : Kern_Op<"get_weight", [Pure, Kern_Definition, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "returns a weight";
  let description = [{
    Constraints:
    1. The symbol is a `kern.weight`.
    2. The types are equal.

    Example:
    ```mlir
    %w = kern.get_weight @q : !kern.weight<[64, 64] x f32, panels32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs Kern_WeightType:$result);
  let assemblyFormat = "$weight `:` type($result) attr-dict";
}

def Kern_AllocOp : Kern_Op<"alloc", [Kern_Definition]> {
  let summary = "allocates an arena buffer";
  let description = [{
    The content is undefined until an operation writes it. `slot` is the buffer's index
    in the entry's offset table, set by `kern-plan-memory`. Column panels for a
    `kern.gemm` are *kept*: their memory is persistent across calls, and zero before
    the first.

    Constraints:
    1. The slot is not negative.

    Example:
    ```mlir
    %y = kern.alloc {slot = 3 : i64} : !kern.buffer<[rows, 768] x f32>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$slot);
  let results = (outs Res<Kern_BufferType, "", [MemAlloc]>:$result);
  let extraClassDeclaration = [{
    /// Returns whether its memory is persistent across calls.
    bool isKept();
  }];
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kern_ViewOp : Kern_Op<"view", [Pure, Kern_Definition]> {
  let summary = "views the same memory with other dimensions";
  let description = [{
    Constraints:
    1. Source and result have one element type.
    2. They have equal element counts.
    3. They are dense: no stride, no key panels.

    Example:
    ```mlir
    %y = kern.view %x : !kern.buffer<[rows, 768] x f32> -> !kern.buffer<[rows, 12, 64] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$source);
  let results = (outs Kern_BufferType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Kern_RaggedBatchOp : Kern_Op<"ragged_batch", [Pure, Kern_Definition]> {
  let summary = "the rows in a batch";
  let description = [{
    With `mask` (an entry input) it has one row for each 1, and with `keep_first` one
    for a hidden column 0, which is only a query; without `mask`, `batch` sequences
    with `columns` rows each. The runtime fills in the table before the first step.
    `rows` and `keys` name the symbols for the row and key counts. A layer body may
    repeat the operation: the type's index specifies the table in the frame.

    Constraints:
    1. Without a mask `batch` and `columns` are sizes.
    2. `keep_first` comes with a mask only.
    3. The mask is [batch, columns], i64 or i1.
    4. `rows` and `keys` are not empty.

    Example:
    ```mlir
    %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
        {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
    %t = kern.ragged_batch {batch = "batch", columns = "seq", rows = "rows1", keys = "keys1"} : !kern.ragged<1>
    ```
  }];
  let arguments = (ins Optional<Kern_BufferType>:$mask, StrAttr:$batch, StrAttr:$columns,
                       StrAttr:$rows, StrAttr:$keys, UnitAttr:$keep_first);
  let results = (outs Kern_RaggedType:$result);
  let assemblyFormat = "(`mask` $mask^ `:` type($mask))? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // TRANSOM_DIALECTS_KERN_KERNSTORAGEOPS_TD
