// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, and the key panels that it reads.
#ifndef TRANSOM_DIALECTS_KERN_KERNATTENTIONOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNATTENTIONOPS_TD

include "dialects/kern/KernBase.td"

def Kern_AttentionOp : Kern_BufferizedOp<"attention", [AttrSizedOperandSegments],
    ["acceptsStride", "canRoundOutput", "roundOutput", "getAccessedCache"]> {
  let summary = "multi-head attention over ragged batches";
  let description = [{
    `query [rows, heads*dk]`, `key` in key panels [positions, kv_heads*dk], `value
    [rows, kv_heads*dv]` -> `outs [rows, heads*dv]`. A row in `query_ragged` attends to
    its sequence's keys in `key_ragged`. Keys are processed in KV blocks with 256 keys,
    which are merged in order. Within a block each score is a chain over dk, then
    scaled (and capped) and masked; probabilities are exp2(score - maximum) and their
    sum runs in 16 lanes; the product with the values is a chain from zero. A row
    without a visible key returns zeros.

    With `causal` row i sees keys up to i; with `window` w only keys at a distance below
    w; queries in another ragged batch are aligned with the last keys. `mask` is
    broadcastable to [batch, heads, q, k]: an f32 mask is added to the scores; a bool
    mask selects, and where it is false the score is `mask_value` or, without one, the
    key is hidden. `scratch` contains each worker's scores.

    `slopes` (ALiBi), one per head, add slope * (j - i) to the score of key j for the
    query at position i; slopes [heads, 2] contain one for j <= i and one for j > i.
    `relative_bias` [heads, 2R + 1] adds element [h, min(max(j - i, -R), R) + R].
    `content_to_position` and `position_to_content` [heads * rows, n] (disentangled
    attention) are the products of queries and keys, respectively, with n relative
    positions: element [h * rows + query row, r] and element [h * rows + key row, r],
    times the scale, are added after them, where r is the position for the distance
    i - j as defined by `attn.sdpa` with `max_distance`. See `kern.head_gemm`.

    Positions are indices among the sequence's keys. With `by_column` they are the
    columns of the tokens in the caller's batch, for `causal`, `window`, `slopes`,
    `relative_bias` and relative positions alike, so a ragged batch with gaps returns
    the same result as the padded batch.

    With a `cache` instead of key and value, a sequence's keys are those at positions 0
    to keys - 1 in the cache, where the new rows are the last, and positions are
    counted from the sequence's start. In a read-only cache, all keys named by
    `key_ragged`, a `kern.cache_batch`, are visible.

    `schedule` selects how work is split. A work item is a block of query rows in one
    head. Results are bit-identical for all schedules:

    - `streaming`: a work item computes its KV blocks sequentially;
    - `two_pass`: a work item computes all its scores first, for up to 8 KV
      blocks, then the products with the values;
    - `split_kv`: a work item's KV blocks are distributed over workers. Each block
      stores its result in `partials`; `counters` (zero before and after) determine
      which worker is last and merges them. Without room for all blocks the op falls
      back to `streaming`;
    - `auto`: `streaming` or `split_kv`, depending on the call's lengths and workers.

    In bf16, scores are chains over pairs along dk, probabilities are rounded to bf16
    before they are summed and multiplied, and their product with the values is a chain
    over pairs of keys; sums and all other values are f32. With AMX, which requires dk
    to be a multiple of 32 and excludes a cache and `causal`, both products are sums of
    two chains per 32 elements, one over the even and one over the odd elements.

    `copy` is the quantized result with `scales`, both equal to `kern.quantize` on the
    result; the worker that computes a head's columns quantizes them.

    Constraints:
    1. `heads` is a multiple of `kv_heads`, both are positive.
    2. Key and value are given, or a cache.
    3. Query, key, value and outs are f32 or bf16, and their last sizes are
       constant: heads*dk, kv_heads*dk, kv_heads*dv and heads*dv.
    4. The key is key panels.
    5. Query, value and outs are rows.
    6. Query, key and value have one element type.
    7. In bf16 dk is even.
    8. Outs are f32, or bf16 if the query is bf16.
    9. Query and outs have equal row counts.
    10. The scratch is f32 [parts, floats] with the size for the schedule and dv, plus
        the values in four KV blocks if AMX may be used.
    11. `split_kv` has partials and counters.
    12. Partials are f32 [parts, floats] with room for 32 KV blocks.
    13. Counters are i64 [parts, 32].
    14. The mask is f32 or bool with rank 4 or less.
    15. `mask_value` requires a bool mask.
    16. The window and the soft cap are not negative.
    17. With `causal` or `window` and without `by_column` the query's ragged batch
        has no `keep_first`, because such a row has no index in the order.
    18. With a cache there is no mask. If the cache grows, both ragged batches are one
        table and `causal` is set; if it is read-only, the key's ragged batch is a
        `kern.cache_batch` and `causal` is not set.
    19. The query's type, `kv_heads` and the window match the cache.
    20. Slopes are f32 [heads] or [heads, 2] in `rows` or `unset`.
    21. The relative bias is f32 [heads, an odd size] in `rows` or `unset`.
    22. With `by_column` there is no cache, and both ragged batches are one table.
    23. `content_to_position` and `position_to_content` are f32 in rows, [heads * query
        rows, n], with the same even n for both; `heads` equals `kv_heads`, there is no
        cache, and both ragged batches are one table.
    24. `max_distance` is 0 or, with them and n >= 4, from n / 4 + 2 to 65536.
    25. `copy` is i8 in rows with the sizes of outs, which are f32 then. `scales` are
        given exactly with it: f32 in rows with the leading sizes of outs and two
        columns for each group of 32 to 1024 columns.
    26. dv is a multiple of this group size.

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
    /// Returns the cache type; null without a cache.
    ::transom::kern::CacheType getCacheType();
    /// Returns whether it is computed with AMX if AMX is available.
    bool suitsAmx();
    /// Returns the existing products with relative positions.
    ::llvm::SmallVector<::mlir::Value> getPositionScores();
    /// Returns the rule for relative positions; nullopt without them.
    std::optional<::transom::PositionBuckets> getPositionBuckets();
  }];
}

def Kern_PackKeysOp : Kern_BufferizedOp<"pack_keys"> {
  let summary = "converts key rows into key panels";
  let description = [{
    Row r goes to its key position in `ragged`; other panel positions stay undefined,
    and all readers mask them.

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
