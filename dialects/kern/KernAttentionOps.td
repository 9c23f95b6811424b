// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, and the key panels that it reads.
#ifndef TRANSOM_DIALECTS_KERN_KERNATTENTIONOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNATTENTIONOPS_TD

include "dialects/kern/KernBase.td"

def Kern_AttentionOp : Kern_BufferizedOp<"attention", [AttrSizedOperandSegments],
    ["acceptsStride", "canRoundOutput", "roundOutput", "getAccessedCache"]> {
  let summary = "attention of several heads over ragged batches";
  let description = [{
    `query [rows, heads*dk]`, `key` in key panels [positions, kv_heads*dk], `value
    [rows, kv_heads*dv]` -> `outs [rows, heads*dv]`. A row of `query_ragged` attends to
    the keys of its sequence in `key_ragged`. Keys are taken in KV blocks of 256
    that merge in order: within a block each score is a chain over dk, then
    scaled (and capped), masked; probabilities are exp2(score - maximum) and
    their sum runs in 16 lanes; the product with the values is a chain from zero.
    A row without a visible key gives zeros.

    With `causal` row i sees keys up to i; with `window` w only those nearer than
    w; queries of other ragged are aligned with the last keys. `mask` is
    broadcastable to [batch, heads, q, k]: f32 is added to the scores, bool
    selects, and where it is false the score is `mask_value` or, without one,
    hidden. `scratch` holds each worker's scores. With `slopes` (ALiBi), one for each
    head, slope * (j - i) is added to the score of key j for the query at position i;
    slopes [heads, 2] are one for j <= i and one for j > i;
    with `relative_bias` [heads, 2R + 1] element [h, min(max(j - i, -R), R) + R].
    `content_to_position` and `position_to_content` [heads * rows, n] (disentangled
    attention) are products of queries and of keys with n relative positions: element
    [h * rows + row of the query, r] and [h * rows + row of the key, r], times the
    scale, are added after them, where r is the position of the distance i - j that
    `attn.sdpa` defines with `max_distance`. See `kern.head_gemm`.

    Positions are indices among the keys of the sequence. With `by_column`
    they are the columns of the tokens in the caller's batch, for `causal`,
    `window`, `slopes`, `relative_bias` and relative positions alike, so that a ragged
    batch with holes gives what the padded batch does.

    With a `cache` instead of key and value the keys of a sequence are those at
    positions 0 to keys - 1 in the cache, of which the new rows are the last, and
    positions are counted from the sequence's start. Of a read-only cache all
    keys are visible, those that `key_ragged`, a `kern.cache_batch`, names.

    `schedule` selects how the work is divided. A work item is a block of query
    rows of one head. No schedule changes a bit of the result:

    - `streaming`: a work item computes one KV block after the other;
    - `two_pass`: a work item computes all its scores first, for up to 8 KV
      blocks, then the products with the values;
    - `split_kv`: the KV blocks of a work item are distributed over workers. Each
      block leaves its result in `partials`; `counters` (zero before and after)
      tell which worker is last and merges them. Without room for all blocks the
      op falls back to `streaming`;
    - `auto`: `streaming` or `split_kv`, by the lengths and workers of a call.

    In bf16 scores are chains over pairs of dk, probabilities are rounded to bf16
    before they are summed and multiplied, and their product with the values is a
    chain over pairs of keys; sums and all else are f32. With AMX, without a cache and
    `causal`, and with dk a multiple of 32, both products are sums of chains of
    every second number of 32 each.

    `copy` is the result as whole numbers with `scales`, as `kern.quantize` makes
    them of it, by the worker that makes the columns of a head.

    Constraints:
    1. `heads` is a multiple of `kv_heads`, both are positive.
    2. Key and value are given, or a cache.
    3. Query, key, value and outs are f32 or bf16, and their last sizes are
       constant: heads*dk, kv_heads*dk, kv_heads*dv and heads*dv.
    4. The key is key panels.
    5. Query, value and outs are rows.
    6. Query, key and value have one element type.
    7. In bf16 dk is even.
    8. Outs are f32, or bf16 where the query is bf16.
    9. Query and outs have equal numbers of rows.
    10. The scratch is f32 [parts, floats] with the floats that the schedule and
        dv need, and those of the values of four KV blocks where AMX may be used.
    11. `split_kv` has partials and counters.
    12. Partials are f32 [parts, floats] with room for 32 KV blocks.
    13. Counters are i64 [parts, 32].
    14. The mask is f32 or bool of rank 4 or less.
    15. `mask_value` comes with a bool mask only.
    16. The window and the soft cap are not negative.
    17. With `causal` or `window` and without `by_column` the query's ragged batch
        has no `keep_first`, since such a row has no index in the order.
    18. Beside a cache there is no mask. If the cache grows, both ragged batches
        are one table and `causal` is set; if it is read-only, that of the
        keys is a `kern.cache_batch` and `causal` is not set.
    19. The query's type, `kv_heads` and the window are the cache's.
    20. Slopes are f32 [heads] or [heads, 2] in `rows` or `unset`.
    21. The relative bias is f32 [heads, an odd number] in `rows` or `unset`.
    22. With `by_column` there is no cache, and both ragged batches are one table.
    23. `content_to_position` and `position_to_content` are f32 in rows of [heads *
        rows of the query, n], with an even n, the same for both; `heads` is
        `kv_heads`, there is no cache, and both ragged batches are one table.
    24. `max_distance` is 0 or, beside them, from n / 4 + 2 to 65536 with n of at
        least 4.
    25. `copy` is i8 in rows of the sizes of outs, which are f32 then. `scales` are
        given exactly beside it: f32 in rows of the leading sizes of outs and two
        columns for each group of 32 to 1024 columns.
    26. dv is a multiple of this group.

    Example:
    ```mlir
    kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.125 {causal} :
        !kern.buffer<[rows, 128] x f32>, !kern.buffer<[keys, 128] x f32, key_panels>,
        !kern.buffer<[rows, 128] x f32>, !kern.ragged<0>, !kern.ragged<0>,
        !kern.buffer<[parts, 10176] x f32>, !kern.buffer<[rows, 128] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$query, Optional<Kern_BufferType>:$key, Optional<Kern_BufferType>:$value,
                       Kern_RaggedType:$query_ragged, Kern_RaggedType:$key_ragged,
                       Optional<Kern_CacheType>:$cache, Optional<Kern_WeightType>:$slopes,
                       Optional<Kern_WeightType>:$relative_bias,
                       Optional<Kern_BufferType>:$content_to_position,
                       Optional<Kern_BufferType>:$position_to_content,
                       Optional<Kern_BufferType>:$mask, Kern_BufferType:$scratch,
                       Optional<Kern_BufferType>:$partials, Optional<Kern_BufferType>:$counters,
                       Kern_BufferType:$outs, Optional<Kern_BufferType>:$copy,
                       Optional<Kern_BufferType>:$scales,
                       I64Attr:$heads, I64Attr:$kv_heads, F64Attr:$scale, UnitAttr:$causal,
                       DefaultValuedAttr<I64Attr, "0">:$window,
                       UnitAttr:$by_column,
                       DefaultValuedAttr<F64Attr, "0.0">:$soft_cap,
                       OptionalAttr<F64Attr>:$mask_value,
                       DefaultValuedAttr<I64Attr, "0">:$max_distance,
                       DefaultValuedAttr<Kern_ScheduleAttr, "::transom::kern::AttentionSchedule()">:$schedule);
  let assemblyFormat = [{
    $query (`,` $key^ `,` $value)? `ragged` $query_ragged `,` $key_ragged
    (`cache` $cache^)? (`slopes` $slopes^)? (`relative_bias` $relative_bias^)?
    (`content_to_position` $content_to_position^)? (`position_to_content` $position_to_content^)? (`mask` $mask^)? `scratch` $scratch (`partials` $partials^ `counters` $counters)?
    `outs` `(` $outs `)` (`copy` `(` $copy^ `)` `scales` `(` $scales `)`)? `\n` `heads` $heads `kv_heads` $kv_heads `scale` $scale attr-dict `\n` `:` type(operands)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of the cache, null without one.
    ::transom::kern::CacheType getCacheType();
    /// Whether it is computed with AMX where there is AMX.
    bool suitsAmx();
    /// Products with relative positions: those that are there.
    ::llvm::SmallVector<::mlir::Value> getPositionScores();
    /// The rule of relative positions; nothing without them.
    std::optional<::transom::PositionBuckets> getPositionBuckets();
  }];
}

def Kern_PackKeysOp : Kern_BufferizedOp<"pack_keys"> {
  let summary = "rows of keys into key panels";
  let description = [{
    Row r goes to the key position of row r in `ragged`; other positions of
    the panels stay undefined and are masked by whoever reads them.

    Constraints:
    1. The input is f32 or bf16 in rows.
    2. Outs is key panels.
    3. Input and outs have equal last sizes.
    4. Outs is bf16 if the input is.

    Example:
    ```mlir
    kern.pack_keys %x ragged %s outs(%y) : !kern.buffer<[rows, 64] x f32>, !kern.ragged<0>,
        !kern.buffer<[keys, 64] x f32, key_panels>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_RaggedType:$ragged, Kern_BufferType:$outs);
  let assemblyFormat = "$input `ragged` $ragged `outs` `(` $outs `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

#endif // TRANSOM_DIALECTS_KERN_KERNATTENTIONOPS_TD
