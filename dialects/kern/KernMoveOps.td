// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data movement: gather, scatter and pooling on sequence rows, transposition,
// block copies and gathers.
#ifndef TRANSOM_DIALECTS_KERN_KERNMOVEOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNMOVEOPS_TD

include "dialects/kern/KernBase.td"

def Kern_PositionsOp : Kern_BufferizedOp<"positions"> {
  let summary = "computes token positions by `nonpad_rank`";
  let description = [{
    A token other than `pad` gets `pad` + its rank among such tokens in its line,
    counted from 1; a `pad` token gets `pad`. See `attn.position`.

    Constraints:
    1. Ids and outs are i64.
    2. They have equal sizes.

    Example:
    ```mlir
    kern.positions %ids outs(%y) pad 1 : !kern.buffer<[batch, seq] x i64>, !kern.buffer<[batch, seq] x i64>
    ```
  }];
  let arguments = (ins Kern_BufferType:$ids, Kern_BufferType:$outs, I64Attr:$pad);
  let assemblyFormat = "$ids `outs` `(` $outs `)` `pad` $pad attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_ColumnsOp : Kern_BufferizedOp<"columns"> {
  let summary = "returns each row's column in the caller's batch, as i64";
  let description = [{
    Constraints:
    1. Outs is i64.

    Example:
    ```mlir
    kern.columns %s outs(%y) : !kern.ragged<0>, !kern.buffer<[rows] x i64>
    ```
  }];
  let arguments = (ins Kern_RaggedType:$ragged, Kern_BufferType:$outs);
  let assemblyFormat = "$ragged `outs` `(` $outs `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_GatherRowsOp : Kern_BufferizedOp<"gather_rows"> {
  let summary = "[batch, seq, ...] to the ragged [rows, ...]";
  let description = [{
    Row r is the batch element at the row's sequence and column.

    Constraints:
    1. Input and outs have one element type.
    2. The input's sizes after the second equal outs' sizes after the first.
    3. Both are dense.

    Example:
    ```mlir
    kern.gather_rows %x ragged %s outs(%y) : !kern.buffer<[batch, seq, 8] x f32>, !kern.ragged<0>,
        !kern.buffer<[rows, 8] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_RaggedType:$ragged, Kern_BufferType:$outs);
  let assemblyFormat = "$input `ragged` $ragged `outs` `(` $outs `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_ScatterRowsOp : Kern_BufferizedOp<"scatter_rows", [], ["acceptsStride"]> {
  let summary = "ragged [rows, ...] to [batch, seq, ...], zero elsewhere";
  let description = [{
    A column 0 that is present only due to `keep_first` in `kern.ragged_batch` is not
    copied; its location is also zero.

    Constraints:
    1. Input and outs have one element type.
    2. The sizes of outs after the second equal the input's sizes after the first.
    3. Outs is dense; an input with rank 2 may be padded rows.

    Example:
    ```mlir
    kern.scatter_rows %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>,
        !kern.buffer<[batch, seq, 8] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_RaggedType:$ragged, Kern_BufferType:$outs);
  let assemblyFormat = "$input `ragged` $ragged `outs` `(` $outs `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_PoolOp : Kern_BufferizedOp<"pool", [], ["canRoundOutput"]> {
  let summary = "reduces each sequence to one row: one of its rows, a mean, sum or maximum";
  let description = [{
    The kinds are defined by `attn.pool`. All kinds except `first` reduce each
    sequence's keys; with `mask` (bool, one per row) only keys where it is true. A
    sequence without such a row returns zeros. `first` is the row in column 0,
    regardless of the mask; zeros for a sequence without rows. `weighted_mean` uses a
    row's column in the padded batch as its weight. Rows are added in order; each
    weighted product is rounded first.

    Constraints:
    1. The input is f32 in rows, outs f32 or bf16 in rows.
    2. Outs is [batch, d], where d is the input's last size.
    3. The mask is bool.

    Example:
    ```mlir
    kern.pool <mean> %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>,
        !kern.buffer<[batch, 8] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_RaggedType:$ragged,
                       Optional<Kern_BufferType>:$mask, Kern_BufferType:$outs,
                       Kern_PoolKindAttr:$kind);
  let assemblyFormat = "$kind $input `ragged` $ragged (`mask` $mask^)? `outs` `(` $outs `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_NeighborsOp : Kern_BufferizedOp<"neighbors"> {
  let summary = "concatenates each token's neighboring rows";
  let description = [{
    Columns [s*d, (s + 1)*d) in a token's outs row contain the row of the key that is
    s - reach columns after it in its sequence, for s = 0 to 2*reach; zeros if there is
    no such key. `mask` (bool, one per row) is false for rows that are not keys.

    Constraints:
    1. The input is f32 in rows [rows, d], outs f32 in rows [rows, (2*reach + 1)*d].
    2. The reach is from 0 to 127.
    3. The mask is bool.
    4. Outs does not use the input's memory.

    Example:
    ```mlir
    kern.neighbors %x ragged %s outs(%y) reach 1 : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>,
        !kern.buffer<[rows, 24] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_RaggedType:$ragged,
                       Optional<Kern_BufferType>:$mask, Kern_BufferType:$outs, I64Attr:$reach);
  let assemblyFormat = "$input `ragged` $ragged (`mask` $mask^)? `outs` `(` $outs `)` `reach` $reach attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_TransposeOp : Kern_BufferizedOp<"transpose"> {
  let summary = "permutes dimensions: dimension i of outs is dimension permutation[i] of input";
  let description = [{
    Constraints:
    1. The permutation contains each dimension once.
    2. The sizes of outs are the permuted sizes of the input.
    3. Input and outs have one element type.

    Example:
    ```mlir
    kern.transpose %x outs(%y) [1, 0] : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[8, rows] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_BufferType:$outs, DenseI64ArrayAttr:$permutation);
  let assemblyFormat = "$input `outs` `(` $outs `)` $permutation attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_CopyOp : Kern_BufferizedOp<"copy"> {
  let summary = "copies a block along one axis";
  let description = [{
    `outs[.., to + i, ..] = input[.., from + i, ..]` for 0 <= i < size along `axis`; `to`,
    `from` and `size` are polynomials.

    Constraints:
    1. The axis exists in both buffers.
    2. `from`, `to` and `size` are sizes.
    3. All sizes except along the axis are equal.
    4. The block is within both buffers, as far as sizes are known.
    5. Input and outs have one element type.

    Example:
    ```mlir
    kern.copy %x outs(%y) axis 1 from "8" to "0" size "8" : !kern.buffer<[rows, 24] x f32>, !kern.buffer<[rows, 8] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_BufferType:$outs, I64Attr:$axis,
                       StrAttr:$from, StrAttr:$to, StrAttr:$size);
  let assemblyFormat = "$input `outs` `(` $outs `)` `axis` $axis `from` $from `to` $to `size` $size attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_GatherOp : Kern_BufferizedOp<"gather", [], ["acceptsStride"]> {
  let summary = "selects activation rows [n, ...] by i64 index";
  let description = [{
    The runtime checks indices that come from the caller; indices computed in the graph
    must be within the table.

    Constraints:
    1. Indices are i64.
    2. The sizes of outs are the index sizes, followed by the table's sizes after the
       first.
    3. Table and outs have one element type.
    4. All are dense; table and outs with rank 2 may be padded rows.

    Example:
    ```mlir
    kern.gather %t, %i outs(%y) : !kern.buffer<[n, 8] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 8] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$table, Kern_BufferType:$indices, Kern_BufferType:$outs);
  let assemblyFormat = "$table `,` $indices `outs` `(` $outs `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

#endif // TRANSOM_DIALECTS_KERN_KERNMOVEOPS_TD
