// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few operations that machines run: products with epilogues, attention,
// norms, elementwise regions and movements of rows, on planned buffers.
#ifndef TRANSOM_DIALECTS_KERN_KERNOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNOPS_TD

include "dialects/kern/KernBase.td"
include "dialects/kern/KernCacheOps.td"
include "dialects/kern/KernGroupOps.td"
include "dialects/kern/KernRowOps.td"

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

def Kern_WeightOp : Kern_Op<"weight", [Symbol]> {
  let summary = "defines a packed weight";
  let description = [{
    `expr` is an expression over the tensors of the model's files.
    `kern-pack-weights` sets the type's layout and `offset`, the byte offset in the
    artifact's weights.

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
  let summary = "the value of a weight";
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
  let summary = "a buffer of the arena";
  let description = [{
    Its content is undefined until something writes it. `slot` is its index in
    the entry's table of offsets, set by `kern-plan-memory`.

    Constraints:
    1. The slot is not negative.

    Example:
    ```mlir
    %y = kern.alloc {slot = 3 : i64} : !kern.buffer<[rows, 768] x f32>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$slot);
  let results = (outs Res<Kern_BufferType, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kern_ViewOp : Kern_Op<"view", [Pure, Kern_Definition]> {
  let summary = "the same memory with other dimensions";
  let description = [{
    Constraints:
    1. Source and result have one element type.
    2. They have equally many elements.
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
  let summary = "the rows of a batch";
  let description = [{
    With `mask` (an input of the entry) one row for each 1, and with `keep_first`
    one for a hidden column 0, which only asks; else `batch` sequences of
    `columns` rows each. The runtime fills the table before the first step.
    `rows` and `keys` name the symbols for their numbers. A layer body may repeat
    the operation: the type's index says which table of the frame is meant.

    Constraints:
    1. Without a mask `batch` and `columns` are sizes.
    2. `keep_first` comes with a mask only.
    3. The mask is [batch, columns] of i64 or i1.
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

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def Kern_GemmOp : Kern_BufferizedOp<"gemm", [AttrSizedOperandSegments],
    ["acceptsStride", "canRoundOutput", "roundOutput"]> {
  let summary = "product with a packed weight, with an epilogue";
  let description = [{
    `outs = activation(input [m, k] x weight [n, k]^T + bias) + residual`. With
    several `outs` consecutive column ranges of n go to one each (`splits` of the
    weight's type); an out may be key panels, then row r goes to the key position
    of row r in `ragged`. One chain of fused multiply-adds over ascending k for
    each output, starting from the bias, so that results are
    bit-identical for any m and number of workers.

    With `norm_gamma` the LayerNorm of each row of `outs` goes to `norm_out`,
    rounded to `norm_out_bf16`, or both, made by the worker that completes the rows;
    `norm_counters` (zero before and after) tell which worker that is. With
    `rms_norm` in the epilogue it is the RMSNorm.

    With `glu` in the epilogue the weight's rows are interleaved, 8 of g and 8 of u
    in turn, and `outs [m, n/2] = activation(g) * u`, made in registers.

    A weight of bf16 takes an input of bf16: the chain then takes pairs along k,
    products are exact and sums f32, and the activation and the residual are f32.
    Each out is f32 or bf16, rounded to nearest even, whatever the input is.

    Constraints:
    1. The input is f32 or bf16 in rows.
    2. The weight is [n, k], where k is the input's last size.
    3. The weight is in `panels32` or `unset`.
    4. The input is bf16 if the weight is, else f32.
    5. The bias is f32 [n] in `padded32` or `unset`.
    6. The bias has the weight's splits.
    7. There is one out for each split of the weight, or one where it has no
       splits.
    8. An out is f32 or bf16 and as wide as its split.
    9. An out in rows has the input's rows.
    10. An out is f32 if k has several K blocks.
    11. `ragged` is given exactly if an out is key panels.
    12. Beside key panels there is no activation, residual or norm.
    13. A residual is f32 in rows, of the sizes of the single out.
    14. `norm_gamma`, `norm_counters`, a norm in the epilogue and `norm_out` or
        `norm_out_bf16` come together; `norm_beta` comes with them only.
    15. Beside a norm there is a single out, f32 in rows.
    16. Gamma and beta are f32 [n] in `rows` or `unset`.
    17. An `rms_norm` has no beta.
    18. `norm_out` is f32 and `norm_out_bf16` is bf16, in rows of the out's sizes.
    19. `norm_counters` has an i64 for each row.
    20. No out, nor that of a norm, is in the input's memory, since other tiles
        still read it.
    21. A residual is in the out's memory only without an activation and with a k
        of one K block, since tiles wait there.
    22. Beside `glu` there is a single out in rows, no residual, no norm and no
        splits.
    23. Beside `glu` n is a multiple of 16 and k has one K block.

    Example:
    ```mlir
    kern.gemm %x, %w bias %b outs(%y) epilogue <gelu> : !kern.buffer<[rows, 8] x f32>,
        !kern.weight<[64, 8] x f32, unset>, !kern.weight<[64] x f32, unset>, !kern.buffer<[rows, 64] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_WeightType:$weight,
                       Optional<Kern_WeightType>:$bias, Optional<Kern_BufferType>:$residual,
                       Optional<Kern_RaggedType>:$ragged,
                       Optional<Kern_WeightType>:$norm_gamma, Optional<Kern_WeightType>:$norm_beta,
                       Optional<Kern_BufferType>:$norm_out, Optional<Kern_BufferType>:$norm_out_bf16,
                       Optional<Kern_BufferType>:$norm_counters,
                       Variadic<Kern_BufferType>:$outs,
                       OptionalAttr<Kern_EpilogueAttr>:$epilogue);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? (`residual` $residual^)? (`ragged` $ragged^)?
    (`\n` `norm` $norm_gamma^)? (`beta` $norm_beta^)? (`norm_out` $norm_out^)?
    (`norm_out_bf16` $norm_out_bf16^)? (`counters` $norm_counters^)? `outs` `(` $outs `)`
    (`epilogue` $epilogue^)? attr-dict `\n` `:` type(operands)
  }];
  let hasVerifier = 1;
  let builders = [
    /// A product without residual and norm.
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight, "::mlir::Value":$bias,
                   "::mlir::ValueRange":$outs, CArg<"EpilogueAttr", "{}">:$epilogue), [{
      ::mlir::Value none;
      build($_builder, $_state, input, weight, bias, none, none, none, none, none, none, none,
            outs, epilogue);
    }]>
  ];
  let extraClassDeclaration = [{
    /// The activation of the epilogue, other than that of a GLU.
    std::optional<::transom::Activation> getActivation();
    /// The activation of the epilogue's GLU.
    std::optional<::transom::Activation> getGlu();
    /// The epsilon of the epilogue's norm.
    std::optional<::llvm::APFloat> getNormEps();
    /// True when the epilogue's norm is an RMSNorm.
    bool getNormRms();
  }];
}

def Kern_BatchMatmulOp : Kern_BufferizedOp<"batch_matmul"> {
  let summary = "product of two activations";
  let description = [{
    `lhs [..., m, k] x rhs [..., k, n] -> outs [..., m, n]`; leading dimensions
    broadcast. One chain of fused multiply-adds over ascending k, from zero.

    Constraints:
    1. Operands are f32 in rows, of rank 2 or more.
    2. The last size of lhs is the last but one of rhs.
    3. Outs has the rows of lhs and the columns of rhs.
    4. Leading sizes of lhs and rhs equal those of outs or are 1.

    Example:
    ```mlir
    kern.batch_matmul %p, %v outs(%y) : !kern.buffer<[batch, 12, seq, seq] x f32>,
        !kern.buffer<[batch, 12, seq, 64] x f32>, !kern.buffer<[batch, 12, seq, 64] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$lhs, Kern_BufferType:$rhs, Kern_BufferType:$outs);
  let assemblyFormat = "$lhs `,` $rhs `outs` `(` $outs `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_AttentionOp : Kern_BufferizedOp<"attention", [AttrSizedOperandSegments],
    ["acceptsStride", "canRoundOutput", "getAccessedCache"]> {
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

    Positions are indices among the keys of the sequence. With `by_column`
    they are the columns of the tokens in the caller's batch, for `causal`,
    `window`, `slopes` and `relative_bias` alike, so that a ragged batch with
    holes gives what the padded batch does.

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
    chain over pairs of keys; sums and all else are f32.

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
        dv need.
    11. `split_kv` has partials and counters.
    12. Partials are f32 [parts, floats] with room for 32 KV blocks.
    13. Counters are i64 [parts, 32].
    14. The mask is f32 or bool of rank 4 or less.
    15. `mask_value` comes with a bool mask only.
    16. The window and the soft cap are not negative.
    17. With `causal` or `window` and without `by_column` the query's ragged batch
        has no `keep_first`, since such a row has no index in the order.
    18. Beside a cache there is no mask. If the cache grows, both ragged batches
        are one table and `causal` is set; if it is read-only, they are two
        tables and `causal` is not set.
    19. The query's type, `kv_heads` and the window are the cache's.
    20. Slopes are f32 [heads] or [heads, 2] in `rows` or `unset`.
    21. The relative bias is f32 [heads, an odd number] in `rows` or `unset`.
    22. With `by_column` there is no cache, and both ragged batches are one table.

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
                       Optional<Kern_BufferType>:$mask, Kern_BufferType:$scratch,
                       Optional<Kern_BufferType>:$partials, Optional<Kern_BufferType>:$counters,
                       Kern_BufferType:$outs,
                       I64Attr:$heads, I64Attr:$kv_heads, F64Attr:$scale, UnitAttr:$causal,
                       DefaultValuedAttr<I64Attr, "0">:$window,
                       UnitAttr:$by_column,
                       DefaultValuedAttr<F64Attr, "0.0">:$soft_cap,
                       OptionalAttr<F64Attr>:$mask_value,
                       DefaultValuedAttr<Kern_ScheduleAttr, "::transom::kern::AttentionSchedule()">:$schedule);
  let assemblyFormat = [{
    $query (`,` $key^ `,` $value)? `ragged` $query_ragged `,` $key_ragged
    (`cache` $cache^)? (`slopes` $slopes^)? (`relative_bias` $relative_bias^)? (`mask` $mask^)? `scratch` $scratch (`partials` $partials^ `counters` $counters)?
    `outs` `(` $outs `)` `\n` `heads` $heads `kv_heads` $kv_heads `scale` $scale attr-dict `\n` `:` type(operands)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of the cache, null without one.
    ::transom::kern::CacheType getCacheType();
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

//===----------------------------------------------------------------------===//
// Movements
//===----------------------------------------------------------------------===//

def Kern_TransposeOp : Kern_BufferizedOp<"transpose"> {
  let summary = "permutes dimensions: dimension i of outs is dimension permutation[i] of input";
  let description = [{
    Constraints:
    1. The permutation has each dimension once.
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
  let summary = "a block along one axis";
  let description = [{
    `outs[.., to + i, ..] = input[.., from + i, ..]` for 0 <= i < size along `axis`; `to`,
    `from` and `size` are polynomials.

    Constraints:
    1. The axis is one of both buffers.
    2. `from`, `to` and `size` are sizes.
    3. Sizes other than that of the axis are equal.
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
  let summary = "rows of an activation [n, ...] by i64 index";
  let description = [{
    The runtime has checked the indices that come from outside; those that a
    graph computes must lie within the table.

    Constraints:
    1. Indices are i64.
    2. The sizes of outs are those of the indices, then those of the table after
       its first.
    3. Table and outs have one element type.
    4. All are dense; table and outs of rank 2 may be padded rows.

    Example:
    ```mlir
    kern.gather %t, %i outs(%y) : !kern.buffer<[n, 8] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 8] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$table, Kern_BufferType:$indices, Kern_BufferType:$outs);
  let assemblyFormat = "$table `,` $indices `outs` `(` $outs `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

def Kern_OneDnnOp : Kern_BufferizedOp<"onednn", [AttrSizedOperandSegments]> {
  let summary = "a step that oneDNN does";
  let description = [{
    No code is generated for it: it is alone in its phase, and the runtime
    hands the whole of it to oneDNN, whose order of sums and rounding apply. All
    in f32. The primitives:

    - `matmul`: `outs = activation(input [.., k] x weight [n, k]^T + bias) +
      residual`, with one or two weights, [n, k] and the bias [n];
    - `batch_matmul`: `input [.., m, k] x rhs [.., k, n]`, leading sizes of
      either broadcast;
    - `softmax` along the last size; a row of minus infinity gives zeros;
    - `layer_norm` of each row, with gamma and perhaps beta, and `eps`.

    Constraints:
    1. `matmul` and `layer_norm` have one or two weights, the others none.
    2. `batch_matmul`, and only it, has `rhs`.
    3. Only `matmul` has a residual.
    4. `layer_norm`, and only it, has `eps`.
    5. Buffers are dense f32 of rank 1 to 8.
    6. Weights are f32 of the sizes above, without splits.
    7. Weights are in `rows` or `unset`.
    8. Outs of `softmax` and `layer_norm`, and the residual, have equal sizes as
       the input and outs.
    9. Outs of `matmul` has the input's rows.
    10. Outs of `batch_matmul` is [.., m, n].
    11. Leading sizes of `batch_matmul` equal those of outs or are 1.
    12. Only `matmul` has an activation: relu, gelu, gelu_tanh, silu, quick_gelu,
        tanh or sigmoid.
    13. A product writes no memory that it reads, except that of its residual.

    Example:
    ```mlir
    kern.onednn <matmul> %x weights(%w, %b) outs(%y) activation <gelu> : !kern.buffer<[rows, 8] x f32>,
        !kern.weight<[64, 8] x f32, rows>, !kern.weight<[64] x f32, rows>, !kern.buffer<[rows, 64] x f32>
    ```
  }];
  let arguments = (ins Kern_OneDnnPrimitiveAttr:$primitive, Kern_BufferType:$input,
                       Optional<Kern_BufferType>:$rhs, Variadic<Kern_WeightType>:$weights,
                       Optional<Kern_BufferType>:$residual, Kern_BufferType:$outs,
                       OptionalAttr<Kern_ActivationAttr>:$activation, OptionalAttr<F64Attr>:$eps);
  let assemblyFormat = [{
    $primitive $input (`,` $rhs^)? (`weights` `(` $weights^ `)`)? (`residual` $residual^)?
    `outs` `(` $outs `)` (`activation` $activation^)? attr-dict `:` type(operands)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Activations that oneDNN has.
    static bool supportsActivation(::transom::Activation kind);
  }];
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

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
    All workers finish a phase before one begins the next.

    Constraints:
    1. The name is not empty.
    2. It holds operations on buffers only.
    3. A `kern.onednn` is alone.
    4. No operation uses a bounded size that another one of the phase writes.

    Example:
    ```mlir
    kern.phase "encode.0.norm" {
      kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let extraClassDeclaration = [{
    /// The call when a library does this phase, else null.
    OneDnnOp getCall();
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name $body attr-dict";
  let hasVerifier = 1;
}

#endif // TRANSOM_DIALECTS_KERN_KERNOPS_TD
