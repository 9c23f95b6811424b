// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What combines the tokens of a sequence (attention, pooling, neighbors), rows
// of sequences without padding, and layers that share a body.
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
    sequence. The query may be `[batch, q, ...]` then, where `batch` is the number
    of sequences: its rows attend to all keys of their sequence.

    Mask: `keys` a bool [batch, k]; `additive` a float tensor broadcastable to
    [batch, heads, q, k] that is added to the scores; `select` a bool tensor
    broadcastable to the same, true = attend. `causal`: a query at position i
    sees keys up to i (aligned at the end when q < k). `window` w > 0: a query at
    position i sees keys j > i - w, and without `causal` also only j < i + w (w = r + 1
    shows the keys with |i - j| <= r).
    `soft_cap` c > 0 turns a score s into c tanh(s / c) before masks. `mask_value`
    replaces a score hidden by `keys` or `select` where it is finite (then masked
    scores are data). Keys hidden by `causal` and `window` get no weight at all.

    `slopes` [heads] (ALiBi, Press et al. 2022): a query at position i adds
    `slope[h] * (j - i)` to its score of a key at position j, after the soft cap
    and before masks. Slopes [heads, 2] are one for earlier and one for later keys:
    `slope[h, 0] * (j - i)` for j <= i, else `slope[h, 1] * (j - i)`; so [s, -s]
    subtracts `s * |j - i|`, as encoders with ALiBi do. `relative_bias` [heads, 2R + 1],
    a number for each head and distance (T5, Raffel et al. 2020), adds
    `relative_bias[h, min(max(j - i, -R), R) + R]` there.

    Disentangled attention (DeBERTa, He et al. 2021, 3.1) adds scores of content and
    relative position. `position_keys` and `position_queries` are [heads * n, dk] for
    an even number n of positions: row h * n + r belongs to head h and position r. They
    add `scale * query_i . position_keys[h, r]` and `scale * key_j .
    position_queries[h, r]` after the soft cap and before masks, where r is the
    position of the distance d = i - j. With the span s = n / 2 that is
    `min(max(s + d, 0), n - 1)`. `max_distance` m > 0 makes buckets of far distances
    (DeBERTa-v2): with e = s / 2, rounded down, |d| > e counts as `sign(d) *
    (ceil(log(|d| / e) / log((m - 1) / e) * (e - 1)) + e)`, in f32.

    A row without a visible key gives zeros. In a ragged batch the keys of a
    sequence are its tokens that are keys. The position of a token, query or key,
    is its column in the caller's batch: windows and biases go by the column, also
    where columns between two tokens are padding.

    With a `cache` each sequence has a past: its new tokens are at the positions
    past, past + 1, ... Their keys and values are stored in the cache there. Then
    each token attends to the keys of its sequence in the cache, from position 0 to
    its own.

    Constraints:
    1. One float element type.
    2. The mask operand is there for `keys`, `additive` and `select` only,
       a ragged batch for `ragged` only.
    3. Heads is a multiple of kv_heads, both positive.
    4. Query and key are heads*dk and kv_heads*dk wide.
    5. The value's width is a multiple of kv_heads.
    6. Key and value have one length.
    7. Query, key and value have one batch.
    8. The mask is bool (float for `additive`) and broadcasts.
    9. A cache goes with a ragged batch and `causal`, and its heads, widths and window
       are those of the operation.
    10. Slopes are [heads] or [heads, 2] of the query's type.
    11. The relative bias is [heads, an odd number] of the query's type.
    12. A query [batch, q, ...] with a ragged batch goes without `causal`, window,
        slopes, relative bias, positions and cache.
    13. The window and the soft cap are not negative.
    14. Position keys and queries are [heads * n, dk] of the query's type with an
        even n, the same for both.
    15. With them heads is kv_heads, query and key have one length, and there is no
        cache.
    16. `max_distance` is 0 or, beside positions, from n / 4 + 2 to 65536 with n of at
        least 4.

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
    /// The rule of position keys and queries; nothing without them.
    std::optional<::transom::PositionBuckets> getPositionBuckets();
  }];
}

def Attn_AppendOp : Attn_InferredOp<"append"> {
  let summary = "fills a read-only cache with the keys and values of sequences";
  let description = [{
    Row r of `key [rows, heads*dk]` and `value [rows, heads*dv]` is stored in the
    cache as the key and value of its sequence at position n, where n is the number
    of keys of the sequence before r. So padding between two tokens leaves no hole.
    What the cache had of the sequence before is dropped. A token that is not a key
    (see `keep_first`) is not stored.

    The result is `state`, unchanged. Through it the operation belongs to a layer:
    layers that only fill caches pass their input on.

    A function that fills a cache does not read it.

    Constraints:
    1. The cache is read-only.
    2. Key and value are float [rows, the cache's heads * its key or value] of one
       type, where rows is the number of tokens of the ragged batch.

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
  let summary = "attention to the keys and values of a read-only cache";
  let description = [{
    softmax(scale * Q K^T) V for each head, where K and V are all that the cache has
    of a query's sequence: attention of a decoder to the encoder (Vaswani et al.
    2017, 3.2.3). `query [rows, heads*dk]` -> `[rows, heads*dv]`; query head h reads
    head h / (heads / kv_heads) of the cache, whose heads are kv_heads. `soft_cap`
    c > 0 turns a score s into c tanh(s / c). Keys have no positions, so there is no
    mask and no bias. A sequence without keys gives zeros.

    `ragged` is an `attn.decode_batch`.

    Constraints:
    1. The cache is read-only.
    2. The query is float [rows, ...], where rows is the number of tokens of the
       ragged batch.
    3. Heads is a positive multiple of the cache's heads.
    4. The query is heads times the cache's key wide.

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
  let summary = "one row for each sequence";
  let description = [{
    `input [batch, seq, d]`, or ragged `[rows, d]` with `ragged` -> `[batch, d]`.
    `first` takes column 0, `first_key` and `last` the first and the last key, `sum`
    and `max` are of the n keys; `mean` is the sum / n, `mean_sqrt` the sum / sqrt(n),
    `weighted_mean` weights each key by its column + 1. Without a ragged batch `mask`
    (bool [batch, seq]) says which tokens are keys, else all; with one (bool [rows]) it
    says which keys count, and `batch` is the result's leading size. All kinds but
    `first` give zeros for a sequence without such a key.

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
  let summary = "the rows of the columns next to each token, side by side";
  let description = [{
    `input [batch, seq, d]`, or ragged `[rows, d]` with `ragged` -> [..., (2 * reach +
    1) * d]: the columns c - reach to c + reach of the token's sequence in turn, c its
    own. A column outside of the sequence, or without a key, gives zeros. `mask` (bool
    [batch, seq]) says which tokens are keys where there is no ragged batch; without it
    all are. A convolution along the sequence is a product of them.

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
  let summary = "the tokens of a batch without padding";
  let description = [{
    From `mask` bool or i64 [batch, seq], one token for each 1. With `keep_first`
    column 0 of a sequence is a token even where the mask hides it (a query, not a
    key).

    Constraints:
    1. The mask is bool or i64 of rank 2.

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
  let summary = "the new tokens of several sequences, each with its own past";
  let description = [{
    What the caller of a step asks for: for each sequence how many positions it has
    already (its past) and how many tokens are new, one sequence after the other.
    The runtime fills it in. A function has at most one, and attention over its
    tokens takes a cache.

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
    1. The input has a rank of at least 2.

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
    A token that is not a key (see `keep_first`) is left out. `batch` and `seq` are the
    two leading sizes of the result.

    Constraints:
    1. The input's first size is the number of tokens of the ragged batch.

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
  let summary = "runs equal layers one after another";
  let description = [{
    Each layer names a body, a `func.func private`, and the weights and caches for
    its trailing parameters. A body is (state, invariants..., parameters...) ->
    state. The result of a layer is the state of the next.

    Constraints:
    1. There is at least one layer.
    2. The body of a layer is a private `func.func` of the type above.
    3. The parameters of a layer are `attn.weight`s or `attn.cache`s of the types
       of the body's trailing parameters.

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
    /// The layers in the order in which they run.
    auto getLayerRange() { return getLayers().getAsRange<LayerAttr>(); }
    /// The body of a layer; null where the symbol is not a function.
    ::mlir::func::FuncOp getBody(LayerAttr layer,
                                 ::mlir::SymbolTableCollection &symbols);
    /// The index of a body's first parameter after the state and invariants.
    unsigned getFirstParameter() { return 1 + getInvariants().size(); }
    /// The weight or cache that a layer gives to an argument of its body.
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
