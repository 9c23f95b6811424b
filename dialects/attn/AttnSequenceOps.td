// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, rows of sequences without padding, and layers that share a body.
#ifndef TRANSOM_DIALECTS_ATTN_ATTNSEQUENCEOPS_TD
#define TRANSOM_DIALECTS_ATTN_ATTNSEQUENCEOPS_TD

include "dialects/attn/AttnBase.td"

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Attn_SdpaOp : Attn_ShapedOp<"sdpa", [AttrSizedOperandSegments]> {
  let summary = "scaled dot-product attention of several heads";
  let description = [{
    softmax(scale * Q K^T + mask) V for each head (Vaswani et al. 2017, 3.2).

    `query [batch, q, heads*dk]`, `key [batch, k, kv_heads*dk]`,
    `value [batch, k, kv_heads*dv]` -> `[batch, q, heads*dv]`; query head h reads
    key head h / (heads / kv_heads). With `ragged` (mask kind `ragged`) the
    tensors are ragged: `[rows, ...]`, and a row attends to the keys of its own
    sequence.

    Mask: `keys` a bool [batch, k]; `additive` a float tensor broadcastable to
    [batch, heads, q, k] that is added to the scores; `select` a bool tensor
    broadcastable to the same, true = attend. `causal`: a query at position i
    sees keys up to i (aligned at the end when q < k). `window` w > 0: a query at
    position i sees keys j > i - w, and without `causal` also only j < i + w (a model that
    lets |i - j| <= r pass has w = r + 1).
    `soft_cap` c > 0 turns a score s into c tanh(s / c) before masks. `mask_value`
    is what a score hidden by `keys` or `select` becomes where it is finite (then
    masked scores are data); causal and window hide always.

    `slopes` [heads] (ALiBi, Press et al. 2022): a query at position i adds
    `slope[h] * (j - i)` to its score of a key at position j, behind the soft cap
    and before masks. `relative_bias` [heads, 2R + 1] (Shaw et al. 2018; T5): it
    adds `relative_bias[h, min(max(j - i, -R), R) + R]` there.

    A row without a visible key gives zeros. In a ragged batch the keys of a sequence
    are its tokens that are keys, and the position of a token, query or key, is its
    column in the caller's batch: windows and biases go by the column, also where
    columns between two tokens are padding.

    With a `cache` each sequence has a past: its new rows are at the positions
    past, past + 1, ... Their keys and values are put into the cache there, then
    each row attends to the keys of its sequence in the cache, from position 0 to
    its own.

    Rules: (1) one float element type; (2) the mask operand is there for `keys`,
    `additive` and `select` only, ragged for `ragged` only; (3) heads is a
    multiple of kv_heads, both positive; (4) query and key are heads*dk and
    kv_heads*dk wide; (5) the value's width is a multiple of kv_heads; (6) key and
    value have one length; (7) query, key and value have one batch; (8) the mask
    is bool (float for `additive`) and broadcasts; (9) a cache goes with ragged
    and `causal`, and its heads, widths and window are those of the operation;
    (10) slopes are [heads] of the query's type; (11) the relative bias is [heads,
    an odd number] of the query's type.

    Example:
    ```mlir
    %y = attn.sdpa %q, %k, %v mask %m heads 2 kv_heads 2 scale 0.5 <keys>
       : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4xi1>)
         -> tensor<1x4x8xf32>
    ```
  }];
  let arguments = (ins AnyTensor:$query, AnyTensor:$key, AnyTensor:$value,
                       Optional<AnyTensor>:$mask, Optional<Attn_RaggedType>:$ragged,
                       Optional<Attn_CacheType>:$cache, Optional<AnyTensor>:$slopes,
                       Optional<AnyTensor>:$relative_bias,
                       I64Attr:$heads, I64Attr:$kv_heads, F64Attr:$scale,
                       Attn_MaskKindAttr:$mask_kind, UnitAttr:$causal,
                       DefaultValuedAttr<I64Attr, "0">:$window,
                       DefaultValuedAttr<F64Attr, "0.0">:$soft_cap,
                       OptionalAttr<F64Attr>:$mask_value);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`ragged` $ragged^)?
    (`cache` $cache^)? (`slopes` $slopes^)? (`relative_bias` $relative_bias^)? `heads` $heads `kv_heads` $kv_heads `scale` $scale $mask_kind
    attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Ragged rows and layers
//===----------------------------------------------------------------------===//

def Attn_RaggedBatchOp : Attn_Op<"ragged_batch", [Pure]> {
  let summary = "the rows of a batch that are real tokens";
  let description = [{
    From `mask` bool or i64 [batch, seq], one row for each 1. With `keep_first` column
    0 of a sequence has a row even where the mask hides it (a query, not a key).

    Rule: (1) the mask is bool or i64 of rank 2.

    Example: `%s = attn.ragged_batch %m : (tensor<2x8xi1>) -> !attn.ragged<rows, keys>`
  }];
  let arguments = (ins AnyTensor:$mask, UnitAttr:$keep_first);
  let results = (outs Attn_RaggedType:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$mask attr-dict `:` functional-type(operands, results)";
}

def Attn_DecodeBatchOp : Attn_Op<"decode_batch", [Pure]> {
  let summary = "the new rows of several sequences, each with its own past";
  let description = [{
    What the caller of a step asks for: per sequence how many positions it has
    already (its past) and how many rows are new, one sequence after the other.
    The run fills it in; a function has at most one, and attention over its rows
    takes a cache.

    Example: `%s = attn.decode_batch : !attn.ragged<rows, keys>`
  }];
  let results = (outs Attn_RaggedType:$result);
  let assemblyFormat = "`:` qualified(type($result)) attr-dict";
}

def Attn_GatherRowsOp : Attn_ShapedOp<"gather_rows"> {
  let summary = "`[batch, seq, ...]` to the ragged `[rows, ...]`";
  let description = [{
    Rule: (1) the input has a rank of at least 2.

    Example: `%r = attn.gather_rows %x, %s : (tensor<2x8x64xf32>,
    !attn.ragged<rows, keys>) -> tensor<?x64xf32, #attn.shape<[rows, 64]>>`
  }];
  let arguments = (ins AnyTensor:$input, Attn_RaggedType:$ragged);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input `,` $ragged attr-dict `:` functional-type(operands, results)";
}

def Attn_ScatterRowsOp : Attn_ShapedOp<"scatter_rows"> {
  let summary = "ragged `[rows, ...]` to `[batch, seq, ...]`, zero elsewhere";
  let description = [{
    A row that is no key (see `keep_first`) is left out. `batch` and `seq` are the
    texts of the two leading sizes of the result.

    Rules: (1) the input's first size is the rows of the ragged; (2) `batch` and
    `seq` are polynomials.

    Example: `%x = attn.scatter_rows %r, %s to "2" x "8" :
    (tensor<?x64xf32, #attn.shape<[rows, 64]>>, !attn.ragged<rows, keys>) ->
    tensor<2x8x64xf32>`
  }];
  let arguments = (ins AnyTensor:$input, Attn_RaggedType:$ragged, StrAttr:$batch, StrAttr:$seq);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input `,` $ragged `to` $batch `x` $seq attr-dict `:` functional-type(operands, results)";
}

def Attn_LayersOp : Attn_Op<"layers", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs equal layers one after another";
  let description = [{
    Each row names a body, a `func.func private`, and the weights and caches for
    its trailing parameters. Body: (state, invariants..., weights...) -> state.
    The result of a row is the state of the next.

    Rules: (1) at least one row, each an `#attn.row`; (2) its body is a private
    `func.func` of the type above; (3) its weights are `attn.weight`s or
    `attn.cache`s of the types of the trailing parameters; (4) state and result
    have one type.

    Example:
    ```mlir
    %y = attn.layers %x invariants(%seg : !attn.ragged<rows, keys>)
           [#attn.row<@layer, [@l0.q]>, #attn.row<@layer, [@l1.q]>]
         : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyTensor:$state, Variadic<AnyType>:$invariants,
                       TypedArrayAttrBase<AnyAttr, "rows">:$rows);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$state (`invariants` `(` $invariants^ `:` type($invariants) `)`)? $rows attr-dict `:` type($state) `->` type($result)";
}

#endif // TRANSOM_DIALECTS_ATTN_ATTNSEQUENCEOPS_TD
