// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that combine the tokens in a sequence (attention, pooling,
// neighbors), ragged rows without padding, and layers that share a body.
#ifndef TRANSOM_DIALECTS_ATTN_ATTNSEQUENCEOPS_TD
#define TRANSOM_DIALECTS_ATTN_ATTNSEQUENCEOPS_TD

include "dialects/attn/AttnBase.td"

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Attn_SdpaOp : Attn_ShapedOp<"sdpa", [AttrSizedOperandSegments]> {
  let summary = "multi-head scaled dot-product attention";
  let description = [{
    softmax(scale * Q K^T + mask) V for each head (Vaswani et al. 2017, 3.2).

    `query [batch, q, heads*dk]`, `key [batch, k, kv_heads*dk]`,
    `value [batch, k, kv_heads*dv]` -> `[batch, q, heads*dv]`; query head h reads
    key head h / (heads / kv_heads). With `ragged` (mask kind `ragged`) the tensors
    are ragged, `[rows, ...]`, and a row attends to the keys in its own sequence. In
    that case the query may also be `[batch, q, ...]`, where `batch` is the number of
    sequences: its rows attend to all keys in their sequence.

    Mask: `keys` is bool [batch, k]; `additive` is a float tensor broadcastable to
    [batch, heads, q, k] that is added to the scores; `select` is a bool tensor
    broadcastable to the same shape, true = attend. `causal`: a query at position i
    sees keys up to i (aligned at the end when q < k). `window` w > 0: a query at
    position i sees keys j > i - w, and without `causal` also only j < i + w (w = r + 1
    shows the keys with |i - j| <= r).
    `soft_cap` c > 0 turns a score s into c tanh(s / c) before masks. A finite
    `mask_value` replaces scores hidden by `keys` or `select` (then masked scores are
    data). Keys hidden by `causal` and `window` get zero weight.

    `slopes` [heads] (ALiBi, Press et al. 2022): a query at position i adds
    `slope[h] * (j - i)` to its score for a key at position j, after the soft cap
    and before masks. Slopes [heads, 2] specify earlier and later keys separately:
    `slope[h, 0] * (j - i)` for j <= i, else `slope[h, 1] * (j - i)`; so [s, -s]
    subtracts `s * |j - i|`, as encoders with ALiBi do. `relative_bias`
    [heads, 2R + 1], a value for each head and distance (T5, Raffel et al. 2020), adds
    `relative_bias[h, min(max(j - i, -R), R) + R]` at the same point.

    Disentangled attention (DeBERTa, He et al. 2021, 3.1) adds scores between content
    and relative position. `position_keys` and `position_queries` are [heads * n, dk]
    for an even position count n: row h * n + r belongs to head h and position r. They
    add `scale * query_i . position_keys[h, r]` and `scale * key_j .
    position_queries[h, r]` after the soft cap and before masks, where r is the
    position for the distance d = i - j. With the span s = n / 2 this is
    `min(max(s + d, 0), n - 1)`. `max_distance` m > 0 maps large distances to buckets
    (DeBERTa-v2): with e = s / 2, rounded down, |d| > e counts as `sign(d) *
    (ceil(log(|d| / e) / log((m - 1) / e) * (e - 1)) + e)`, in f32.

    A row without a visible key returns zeros. In a ragged batch, a sequence's keys
    are its tokens that are keys. The position of a query or key token is its column
    in the caller's batch: windows and biases use the column, even if columns between
    two tokens are padding.

    With a `cache` each sequence has a past: its new tokens are at the positions
    past, past + 1, ..., where their keys and values are stored in the cache. Then each
    token attends to its sequence's cached keys, from position 0 to its own.

    Constraints:
    1. One float element type.
    2. A mask operand is given for `keys`, `additive` and `select` only,
       a ragged batch for `ragged` only.
    3. Heads is a multiple of kv_heads, both positive.
    4. Query and key are heads*dk and kv_heads*dk wide.
    5. The value's width is a multiple of kv_heads.
    6. Key and value have one length.
    7. Query, key and value have one batch.
    8. The mask is bool (float for `additive`) and broadcasts.
    9. A cache requires a ragged batch and `causal`, and has the operation's heads,
       widths and window.
    10. Slopes are [heads] or [heads, 2] in the query's type.
    11. The relative bias is [heads, an odd size] in the query's type.
    12. A query [batch, q, ...] with a ragged batch excludes `causal`, window, slopes,
        relative bias, positions and cache.
    13. The window and the soft cap are not negative.
    14. Position keys and queries are [heads * n, dk] in the query's type, with the
        same even n for both.
    15. With positions, heads equals kv_heads, query and key have one length, and there
        is no cache.
    16. `max_distance` is 0 or, with positions and n >= 4, from n / 4 + 2 to 65536.

    Example:
    ```mlir
    %y = attn.sdpa %q, %k, %v mask(%m : [1, 4] i1) heads 2 kv_heads 2 scale 0.5 <keys>
         : [1, 4, 8] f32
    ```
  }];
  let arguments = (ins AnyTensor:$query, AnyTensor:$key, AnyTensor:$value,
                       Optional<AnyTensor>:$mask, Optional<Attn_RaggedType>:$ragged,
                       Optional<Attn_CacheType>:$cache, Optional<AnyTensor>:$slopes,
                       Optional<AnyTensor>:$relative_bias,
                       Optional<AnyTensor>:$position_keys,
                       Optional<AnyTensor>:$position_queries,
                       I64Attr:$heads, I64Attr:$kv_heads, F64Attr:$scale,
                       Attn_MaskKindAttr:$mask_kind, UnitAttr:$causal,
                       DefaultValuedAttr<I64Attr, "0">:$window,
                       DefaultValuedAttr<F64Attr, "0.0">:$soft_cap,
                       OptionalAttr<F64Attr>:$mask_value,
                       DefaultValuedAttr<I64Attr, "0">:$max_distance);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` `(` $mask^ `:` custom<Types>(type($mask)) `)`)?
    (`ragged` `(` $ragged^ `:` custom<Types>(type($ragged)) `)`)?
    (`cache` `(` $cache^ `:` type($cache) `)`)?
    (`slopes` `(` $slopes^ `:` custom<Types>(type($slopes)) `)`)?
    (`relative_bias` `(` $relative_bias^ `:` custom<Types>(type($relative_bias)) `)`)?
    (`position_keys` `(` $position_keys^ `:` custom<Types>(type($position_keys)) `)`)?
    (`position_queries` `(` $position_queries^ `:` custom<Types>(type($position_queries)) `)`)?
    `heads` $heads `kv_heads` $kv_heads `scale` $scale $mask_kind attr-dict `:`
    custom<Types>(type($query), type($key), type($value))
  }];
  let extraClassDeclaration = [{
    /// Returns the rule for position keys and queries, or nullopt without them.
    std::optional<::transom::PositionBuckets> getPositionBuckets();
  }];
}

def Attn_AppendOp : Attn_InferredOp<"append"> {
  let summary = "fills a read-only cache with keys and values";
  let description = [{
    Row r in `key [rows, heads*dk]` and `value [rows, heads*dv]` is stored in the cache
    as the key and value at position n of its sequence, where n counts the sequence's
    keys before r. So padding between two tokens leaves no gap. Earlier cache contents
    for the sequence are dropped. A token that is not a key (see `keep_first`) is not
    stored.

    The result is `state`, unchanged. It makes the operation part of a layer: layers
    that only fill caches return their input.

    A function that fills a cache does not read it.

    Constraints:
    1. The cache is read-only.
    2. Key and value are float [rows, the cache's heads * its key or value] with one
       type, where rows is the ragged batch's token count.

    Example:
    ```mlir
    %x1 = attn.append %x, %k, %v ragged(%s : <rows, keys>)
          cache(%c : !attn.cache<heads 2, key 4, value 4, read_only 96>) : [rows, 16] f32, [rows, 8] f32, [rows, 8] f32
    ```
  }];
  let arguments = (ins AnyTensor:$state, AnyTensor:$key, AnyTensor:$value,
                       Attn_RaggedType:$ragged, Arg<Attn_CacheType, "", [MemWrite]>:$cache);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $state `,` $key `,` $value `ragged` `(` $ragged `:` custom<Types>(type($ragged)) `)`
    `cache` `(` $cache `:` qualified(type($cache)) `)` attr-dict `:`
    custom<Types>(type($state), type($key), type($value))
  }];
}

def Attn_CrossSdpaOp : Attn_ShapedOp<"cross_sdpa"> {
  let summary = "attention to the keys and values in a read-only cache";
  let description = [{
    softmax(scale * Q K^T) V for each head, where K and V are all cache contents for a
    query's sequence: decoder-encoder attention (Vaswani et al. 2017, 3.2.3).
    `query [rows, heads*dk]` -> `[rows, heads*dv]`; query head h reads cache head
    h / (heads / kv_heads), where the cache has kv_heads heads. `soft_cap` c > 0 turns
    a score s into c tanh(s / c). Keys have no positions, so there is no mask and no
    bias. A sequence without keys returns zeros.

    `ragged` is an `attn.decode_batch`.

    Constraints:
    1. The cache is read-only.
    2. The query is float [rows, ...], where rows is the ragged batch's token count.
    3. Heads is a positive multiple of the cache's heads.
    4. The query's width is heads times the cache's key.

    Example:
    ```mlir
    %y = attn.cross_sdpa %q ragged(%s : <rows, keys>)
         cache(%c : !attn.cache<heads 2, key 4, value 4, read_only 96>) heads 2 scale 0.5 : [rows, 8] f32
    ```
  }];
  let arguments = (ins AnyTensor:$query, Attn_RaggedType:$ragged, Attn_CacheType:$cache,
                       I64Attr:$heads, F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$soft_cap);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $query `ragged` `(` $ragged `:` custom<Types>(type($ragged)) `)`
    `cache` `(` $cache `:` qualified(type($cache)) `)` `heads` $heads `scale` $scale attr-dict `:`
    custom<Types>(type($query))
  }];
}

//===----------------------------------------------------------------------===//
// Pooling and neighbors
//===----------------------------------------------------------------------===//

def Attn_PoolOp : Attn_ShapedOp<"pool", [AttrSizedOperandSegments]> {
  let summary = "reduces each sequence to one row";
  let description = [{
    `input [batch, seq, d]`, or ragged `[rows, d]` with `ragged` -> `[batch, d]`.
    `first` selects column 0, `first_key` and `last` the first and the last key; `sum`
    and `max` reduce the n keys; `mean` is the sum / n, `mean_sqrt` the sum / sqrt(n),
    `weighted_mean` weights each key by its column + 1. Without a ragged batch the keys
    are the tokens selected by `mask` (bool [batch, seq]), or all tokens; with one,
    `mask` (bool [rows]) selects keys, and `batch` is the result's leading size. All
    kinds except `first` return zeros for a sequence without selected keys.

    Constraints:
    1. Ragged: input [rows, d], `batch` is given, mask bool [rows].
    2. Else: input [batch, seq, d] and mask bool [batch, seq].
    3. The input is float.

    Example:
    ```mlir
    %p = attn.pool <mean> %x mask(%m : [2, 8] i1) : [2, 8, 64] f32
    ```
  }];
  let arguments = (ins AnyTensor:$input, Optional<AnyTensor>:$mask,
                       Optional<Attn_RaggedType>:$ragged, Attn_PoolKindAttr:$kind,
                       OptionalAttr<Attn_SizeAttr>:$batch);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $kind $input (`mask` `(` $mask^ `:` custom<Types>(type($mask)) `)`)? (`ragged` `(` $ragged^
    `:` custom<Types>(type($ragged)) `)`)? (`batch` custom<Size>($batch)^)? attr-dict `:`
    custom<Types>(type($input))
  }];
  let hasVerifier = 0;
}

def Attn_NeighborsOp : Attn_ShapedOp<"neighbors", [AttrSizedOperandSegments]> {
  let summary = "concatenates each token's neighboring rows";
  let description = [{
    `input [batch, seq, d]`, or ragged `[rows, d]` with `ragged` -> [..., (2 * reach +
    1) * d]: columns c - reach to c + reach of the token's sequence, concatenated, where
    c is the token's column. A column outside the sequence, or without a key, is zero.
    Without a ragged batch, `mask` (bool [batch, seq]) selects the tokens that are keys;
    without a mask all are. A convolution along the sequence is a GEMM on the result.

    Constraints:
    1. Ragged: input [rows, d], no mask.
    2. Else: input [batch, seq, d] and mask bool [batch, seq].
    3. The input is float, and d is constant.
    4. The reach is from 0 to 127.

    Example:
    ```mlir
    %p = attn.neighbors %x mask(%m : [2, 8] i1) reach 1 : [2, 8, 64] f32
    ```
  }];
  let arguments = (ins AnyTensor:$input, Optional<AnyTensor>:$mask,
                       Optional<Attn_RaggedType>:$ragged, I64Attr:$reach);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $input (`mask` `(` $mask^ `:` custom<Types>(type($mask)) `)`)? (`ragged` `(` $ragged^
    `:` custom<Types>(type($ragged)) `)`)? `reach` $reach attr-dict `:` custom<Types>(type($input))
  }];
}

//===----------------------------------------------------------------------===//
// Ragged rows and layers
//===----------------------------------------------------------------------===//

def Attn_RaggedBatchOp : Attn_Op<"ragged_batch", [Pure,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "the tokens in a batch without padding";
  let description = [{
    Created from `mask` bool or i64 [batch, seq], with one token for each 1. With
    `keep_first` a sequence's column 0 is a token even if the mask hides it (a query,
    not a key).

    Constraints:
    1. The mask is bool or i64 with rank 2.

    Example:
    ```mlir
    %s = attn.ragged_batch %m : [2, 8] i1 -> <rows, keys>
    ```
  }];
  let arguments = (ins AnyTensor:$mask, UnitAttr:$keep_first);
  let results = (outs Attn_RaggedType:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$mask attr-dict `:` custom<Types>(type($mask)) `->` custom<Types>(type($result))";
}

def Attn_DecodeBatchOp : Attn_Op<"decode_batch", [Pure,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "new tokens in sequences that have a past";
  let description = [{
    The tokens that a step's caller passes: for each sequence the number of cached
    positions (its past) and the number of new tokens, one sequence after the other.
    The runtime fills it in. A function has at most one, and attention over its tokens
    requires a cache.

    Example:
    ```mlir
    %s = attn.decode_batch : !attn.ragged<rows, keys>
    ```
  }];
  let results = (outs Attn_RaggedType:$result);
  let assemblyFormat = "`:` qualified(type($result)) attr-dict";
}

def Attn_GatherRowsOp : Attn_ShapedOp<"gather_rows"> {
  let summary = "`[batch, seq, ...]` to the ragged `[rows, ...]`";
  let description = [{
    Constraints:
    1. The input has at least rank 2.

    Example:
    ```mlir
    %r = attn.gather_rows %x, %s : [2, 8, 64] f32, <rows, keys>
    ```
  }];
  let arguments = (ins AnyTensor:$input, Attn_RaggedType:$ragged);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $input `,` $ragged attr-dict `:` custom<Types>(type($input), type($ragged))
  }];
}

def Attn_ScatterRowsOp : Attn_ShapedOp<"scatter_rows"> {
  let summary = "ragged `[rows, ...]` to `[batch, seq, ...]`, zero elsewhere";
  let description = [{
    Tokens that are not keys (see `keep_first`) are omitted. `batch` and `seq` are the
    result's two leading sizes.

    Constraints:
    1. The input's first size is the ragged batch's token count.

    Example:
    ```mlir
    %x = attn.scatter_rows %r, %s to 2 x 8 : [rows, 64] f32, <rows, keys>
    ```
  }];
  let arguments = (ins AnyTensor:$input, Attn_RaggedType:$ragged, Attn_SizeAttr:$batch, Attn_SizeAttr:$seq);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $input `,` $ragged `to` custom<Size>($batch) `x` custom<Size>($seq) attr-dict `:`
    custom<Types>(type($input), type($ragged))
  }];
}

def Attn_LayersOp : Attn_Op<"layers", [
    AllTypesMatch<["state", "result"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "runs layers sequentially";
  let description = [{
    Each layer names a body, a `func.func private`, and the weights and caches for
    its trailing parameters. A body is (state, invariants..., parameters...) ->
    state. Each layer's result is the next layer's state.

    Constraints:
    1. There is at least one layer.
    2. A layer's body is a private `func.func` with the type above.
    3. A layer's parameters are `attn.weight`s or `attn.cache`s with the types of the
       body's trailing parameters.

    Example:
    ```mlir
    attn.weight @l0.q : [8, 8] f32 = #weight.expr<file("l0.q")>
    attn.weight @l1.q : [8, 8] f32 = #weight.expr<file("l1.q")>
    func.func private @layer(%x: tensor<4x8xf32>, %q: tensor<8x8xf32>) -> tensor<4x8xf32> {
      %y = attn.linear %x, %q : [4, 8] f32, [8, 8] f32
      return %y : tensor<4x8xf32>
    }
    func.func @encode(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %y = attn.layers %x [@layer(@l0.q), @layer(@l1.q)] : [4, 8] f32
      return %y : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins AnyTensor:$state, Variadic<AnyType>:$invariants,
                       TypedArrayAttrBase<Attn_LayerAttr, "layers">:$layers);
  let results = (outs AnyTensor:$result);
  let extraClassDeclaration = [{
    /// Returns the layers in execution order.
    auto getLayerRange() { return getLayers().getAsRange<LayerAttr>(); }
    /// Returns a layer's body; null if the symbol is not a function.
    ::mlir::func::FuncOp getBody(LayerAttr layer,
                                 ::mlir::SymbolTableCollection &symbols);
    /// Returns the index of a body's first parameter after the state and invariants.
    unsigned getFirstParameter() { return 1 + getInvariants().size(); }
    /// Returns the weight or cache that a layer passes to a body argument.
    ::mlir::FlatSymbolRefAttr getParameter(LayerAttr layer, unsigned argument) {
      return layer.getParameters()[argument - getFirstParameter()];
    }
  }];
  let assemblyFormat = [{
    $state (`invariants` `(` $invariants^ `:` custom<VariadicTypes>(type($invariants)) `)`)?
    custom<Layers>($layers) attr-dict `:` custom<Types>(type($state))
  }];
}

#endif // TRANSOM_DIALECTS_ATTN_ATTNSEQUENCEOPS_TD
