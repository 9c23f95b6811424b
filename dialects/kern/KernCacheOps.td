// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations for decode steps: key-value caches, rows in sequences that have a
// past, rope.
#ifndef TRANSOM_DIALECTS_KERN_KERNCACHEOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNCACHEOPS_TD

include "dialects/kern/KernBase.td"

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

def Kern_CacheOp : Kern_Op<"cache", [Symbol]> {
  let summary = "declares a layer's key-value cache";
  let description = [{
    `kern-plan-caches` sets `group`, the index of the block table for its positions, and
    `offset`, the layer's byte offset in a block.

    Constraints:
    1. `group` and `offset` come together.
    2. Both are not negative, and the offset is a multiple of 64.

    Example:
    ```mlir
    kern.cache @kv : !kern.cache<heads 4, key 64, value 64, f32> {group = 0 : i64, offset = 0 : i64}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Kern_CacheType>:$type,
                       OptionalAttr<I64Attr>:$group, OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def Kern_GetCacheOp : Kern_Op<"get_cache", [Pure, Kern_Definition, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "returns a cache";
  let description = [{
    Constraints:
    1. The symbol is a `kern.cache`.
    2. The types are equal.

    Example:
    ```mlir
    %c = kern.get_cache @kv : !kern.cache<heads 4, key 64, value 64, f32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$cache);
  let results = (outs Kern_CacheType:$result);
  let assemblyFormat = "$cache `:` type($result) attr-dict";
}

def Kern_DecodeBatchOp : Kern_Op<"decode_batch", [Pure, Kern_Definition]> {
  let summary = "new rows in sequences that have a past";
  let description = [{
    The runtime fills in the table before the first step: one row for each new token,
    whose column is the token's position in its sequence. `rows` and `keys` name the
    symbols for the new row count and the key count. See `kern.ragged_batch`.

    Constraints:
    1. `rows` and `keys` are not empty.

    Example:
    ```mlir
    %s = kern.decode_batch {rows = "rows", keys = "keys"} : !kern.ragged<0>
    ```
  }];
  let arguments = (ins StrAttr:$rows, StrAttr:$keys);
  let results = (outs Kern_RaggedType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kern_CacheBatchOp : Kern_Op<"cache_batch", [Pure, Kern_Definition, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "positions in a read-only cache for a step's sequences";
  let description = [{
    The rows are the same as in `kern.decode_batch`, in the same order. The runtime
    fills in the table before the first step: a sequence's keys are its positions in
    the group of `cache`, at least one. Consecutive sequences in the step that share
    these positions, such as copies, are one sequence here, so attention reads the keys
    once for all their rows. `keys` names the symbol for the maximum position count
    over all sequences, rounded up to 32.

    Constraints:
    1. `keys` has a name.
    2. The symbol is a `kern.cache` that is read-only.

    Example:
    ```mlir
    %k = kern.cache_batch @cross {keys = "source_keys"} : !kern.ragged<1>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$cache, StrAttr:$keys);
  let results = (outs Kern_RaggedType:$result);
  let assemblyFormat = "$cache attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

def Kern_AppendOp : Kern_BufferizedOp<"append", [],
    ["acceptsStride", "getAccessedCache", "writesCache"]> {
  let summary = "writes the keys and values for new rows into a cache";
  let description = [{
    A row is written to one position in its sequence's block: the key into panels, the
    value into rows. f32 elements are rounded to nearest even if the cache has narrower
    floats, or quantized with a scale for each head. The rest of the block is
    unchanged. In a growing cache the position is the row's column. In a read-only
    cache it is the number of keys in the sequence before the row, and each row is a
    key.

    Constraints:
    1. Key and value have one element type: f32, or bf16 if the cache is bf16.
    2. They are rows with heads*key and heads*value columns.
    3. They have equal row counts.

    Example:
    ```mlir
    kern.append %k, %v ragged %s cache %c : !kern.buffer<[rows, 256] x f32>, !kern.buffer<[rows, 256] x f32>,
        !kern.ragged<0>, !kern.cache<heads 4, key 64, value 64, f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$key, Kern_BufferType:$value,
                       Kern_RaggedType:$ragged, Kern_CacheType:$cache);
  let assemblyFormat = "$key `,` $value `ragged` $ragged `cache` $cache attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_RopeTableOp : Kern_BufferizedOp<"rope_table", [], ["gathersWeight"]> {
  let summary = "cosines and sines for the angles at each row's position";
  let description = [{
    `angles` [C + 256, 2n] contains cosines, then sines, for n frequencies: row i < C
    for the angle at position 256 i, row C + j for position j, times a factor. The row
    for position p is computed from rows a = p / 256 and b = C + p mod 256:
    cos = fma(cos_a, cos_b, -(sin_a * sin_b)), sin = fma(sin_a, cos_b,
    cos_a * sin_b). Positions are below 256 C.

    Constraints:
    1. Outs is f32 in rows.
    2. Positions are i64, one for each outs row.
    3. The angles are f32 with more than 256 rows, as wide as outs; the width is
       even.
    4. The angles are in `rows` or `unset`.

    Example:
    ```mlir
    kern.rope_table %p, %a outs(%r) : !kern.buffer<[rows] x i64>, !kern.weight<[288, 64] x f32, rows>,
        !kern.buffer<[rows, 64] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$positions, Kern_WeightType:$angles, Kern_BufferType:$outs);
  let assemblyFormat = "$positions `,` $angles `outs` `(` $outs `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_RopeOp : Kern_BufferizedOp<"rope", [], ["acceptsStride", "canRoundOutput"]> {
  let summary = "rotates column pairs in each head";
  let description = [{
    With n cosines c and n sines s in a rope table row, pair i in each head becomes
    y1 = fma(x1, c, -(x2 * s)), y2 = fma(x2, c, x1 * s). The pairs are the head's
    columns (i, i + n), or (2i, 2i + 1) with `interleaved`; columns from 2n on are
    copied. Outs may use the input's memory.

    Constraints:
    1. The input is f32 in rows, outs f32 or bf16 in rows.
    2. Input and outs have equal sizes.
    3. The last size is a constant multiple of `heads`.
    4. The rope table is f32 in rows, with the input's rows and an even column count,
       at most the head width.

    Example:
    ```mlir
    kern.rope %x, %r outs(%y) heads 4 : !kern.buffer<[rows, 256] x f32>, !kern.buffer<[rows, 64] x f32>,
        !kern.buffer<[rows, 256] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_BufferType:$rope_table, Kern_BufferType:$outs,
                       I64Attr:$heads, UnitAttr:$interleaved);
  let assemblyFormat = "$input `,` $rope_table `outs` `(` $outs `)` `heads` $heads attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

#endif // TRANSOM_DIALECTS_KERN_KERNCACHEOPS_TD
