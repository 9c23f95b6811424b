// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph passes: rewrite models to fewer, larger operations in the same dialect.
// Each description specifies the matched pattern, pre- and post-conditions, and the
// cases that the pass rejects, with the reason.
#ifndef TRANSOM_PASSES_GRAPH_PASSES_TD
#define TRANSOM_PASSES_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def InferShapesPass : Pass<"attn-infer-shapes", "::mlir::ModuleOp"> {
  let summary = "infers the type of every result";
  let description = [{
    Visits the operations in each function in order and sets each result of a
    `ShapeInferable` operation to the type that its shape rule infers from the
    operands; then sets the function results. The body of an `attn.layers` takes its
    parameter types from the first operation that runs it, and must return the state's
    type.

    Pre-condition: arguments of public functions are ranked.
    Post-condition: no result is `tensor<*xT>`.

    Fails with an error at the operation's location, with both shapes: operands that
    violate a rule; a result whose written type differs from the inferred type; a body
    that changes the state's type; a result that stays unranked because its operation
    has no rule.

    Example:
    ```mlir
    %y = "attn.softmax"(%x) : (tensor<2x4xf32>) -> tensor<*xf32>
    // becomes
    %y = attn.softmax %x : [2, 4] f32
    ```
  }];
  let dependentDialects = ["::transom::attn::AttnDialect"];
  let statistics = [
    Statistic<"refined", "refined", "previously unranked results">];
}

def FuseAttentionPass : Pass<"attn-fuse-attention", "::mlir::ModuleOp"> {
  let summary = "fuses matmul, scale, mask, softmax, matmul into attn.sdpa";
  let description = [{
    Starts at each `attn.softmax` and follows the operation chain in both directions:
    - probabilities: their only user is a matmul with the probabilities as lhs;
      constant factors in between, and on the value, are applied to the result;
    - scores: backward through constant scales (`scale`, `mul`, `div`) and masks
      (`add` with a broadcastable float tensor, `mask`, `where` with a constant)
      to a matmul with two activations. A tanh between constant factors and after
      all masks is a soft cap;
    - heads: an operand `[batch, heads, len, d]` is a transpose of
      `[batch, len, heads, d]`, which is a reshape of `[batch, len, heads*d]`; any
      permutation is followed, with or without `transpose_rhs`; scales on query or
      key are included. A tensor `[batch, len, d]` is one head. For other operands
      the pass inserts a transpose and a reshape. If keys and values have one head
      and the query has several, all query heads share it; this also applies to
      repeated heads, a `concat` of equal tensors `[.., kv_heads, 1, ..]` reshaped to
      `[.., heads, ..]`;
    - merge: a transpose and a reshape after the second matmul are absorbed.

    Masks. Bool masks that hide with minus infinity are combined by `and`;
    `[batch, 1, 1, k]` becomes mask kind `keys`, any other `select`. Float masks are
    summed and stay `additive`; in combination with them, a bool mask is converted to
    minus infinity where it hides. A finite value of -1e30 or less counts as minus
    infinity: it makes a difference only for a row whose keys are all masked, which
    then returns zeros instead of a mean. `0 / value` float masks created from a bool
    mask in this way are converted back to bool masks. A finite value above -1e30 is
    data: it becomes `mask_value`, or stays additive. A mask, bool or float, that shows
    keys up to the diagonal and hides all others with minus infinity becomes `causal`
    if the query and key counts are equal. Its elements are computed from
    `attn.constant` and from weights that are a `triangle`, through slices, transposes,
    casts, arithmetic and selects. A mask that combines a triangle with other masks
    (`and`, a product of 0 and 1, a sum of additive masks) is decomposed for this.

    Pre-condition: shapes are inferred.
    Post-condition: each chain is one `attn.sdpa`, except for the reasons below.

    Rejects, reported at the softmax's location: scores or probabilities with a second
    use; an operation of another kind within the chain; probabilities as rhs or
    transposed; a scale that is not a constant or not positive after a mask; a mask
    that enlarges the scores, or that precedes a soft cap; a masked value followed by
    another mask; operands whose last sizes are symbols; query, key and value with
    different batches, head counts or lengths. Two matmuls without a softmax between
    them are also reported.

    Example:
    ```mlir
    %s = attn.matmul %q, %k {transpose_rhs} : [2, 1, 8, 16] f32, [2, 1, 8, 16] f32
    %t = attn.scale %s by 2.500000e-01 : [2, 1, 8, 8] f32
    %m = attn.mask %t, %keys with 0xFFF0000000000000 : [2, 1, 8, 8] f32, [2, 1, 1, 8] i1
    %p = attn.softmax %m : [2, 1, 8, 8] f32
    %c = attn.matmul %p, %v : [2, 1, 8, 8] f32, [2, 1, 8, 16] f32
    // becomes
    %c = attn.sdpa %query, %key, %value mask(%mask : [2, 8] i1) heads 1 kv_heads 1
           scale 2.500000e-01 <keys> : [2, 8, 16] f32
    ```
  }];
  let dependentDialects = ["::transom::attn::AttnDialect"];
  let statistics = [
    Statistic<"fused", "fused", "attentions fused">,
    Statistic<"refused", "refused", "softmaxes that are not fused">];
}

def FuseProjectionsPass : Pass<"attn-fuse-projections", "::mlir::ModuleOp"> {
  let summary = "fuses the projections for one attention into one GEMM";
  let description = [{
    For each `attn.sdpa`, the projections to query, key and value, and for each
    `attn.append`, the projections to key and value: projections with a common input
    become one `attn.linear` whose new weight is a `concat(0, ...)` of their weights,
    followed by a slice for each projection. Rope, norms, reshapes and scales between
    projection and attention are allowed if they have no other reader; they are then
    applied to the slice. Biases are also concatenated; a projection without a bias
    gets zeros if another one has a bias.

    Pre-condition: shapes are inferred; attention is fused.
    Post-condition: no attention reads two plain linears with one input.

    Rejects, reported at the attention's location: projections with different inputs
    (if positions are added to query and key, but not to value, only query and key are
    fused); a projection with another reader; a weight that is not an
    `attn.get_weight` or that is also read elsewhere, except in groups with the same
    weights (tied). Equal groups, in repeated layers or in two entries, read one new
    weight.

    Example:
    ```mlir
    %q = attn.linear %x, %wq : [2, 8, 64] f32, [64, 64] f32
    %k = attn.linear %x, %wk : [2, 8, 64] f32, [64, 64] f32
    // becomes
    %w = attn.get_weight @"self.query+key.weight" : [128, 64] f32
    %qk = attn.linear %x, %w : [2, 8, 64] f32, [128, 64] f32
    %q = attn.slice %qk axis 2 from 0 size 64 : [2, 8, 128] f32
    %k = attn.slice %qk axis 2 from 64 size 64 : [2, 8, 128] f32
    ```
  }];
  let dependentDialects = ["::transom::attn::AttnDialect"];
  let statistics = [
    Statistic<"joined", "joined", "projections fused">];
}

def RemovePaddingPass : Pass<"attn-remove-padding", "::mlir::ModuleOp"> {
  let summary = "converts a batch with padding into ragged rows";
  let description = [{
    For each public function with a mask argument `[batch, seq]` (`attn.role` =
    "mask"): every value `[batch, seq, ...]` becomes `[rows, ...]`, with one row for
    each token that the mask keeps. `attn.ragged_batch` on the mask maps rows to
    sequences; arguments are gathered, results are scattered back with zeros at the
    padding. Operations that process each row independently are cloned on rows.
    Operations that mix positions have their own rules:
    - `attn.sdpa` on rows gets mask kind `ragged` if its mask is derived from the
      argument (casts, reshapes, `and`, products; also an outer product over queries
      and keys);
    - `attn.pool` gets the ragged batch, and also its mask if it is an `and` with
      others; `first`, or a slice with column 0, sets `keep_first`, because the mask
      may hide that column;
    - attention uses the token columns for windows, slopes, a relative bias and
      relative positions, so a mask may have gaps;
    - `attn.neighbors` on rows with the mask gets the ragged batch;
    - `attn.position`: a `column` uses the ragged batch; a `nonpad_rank` stays on the
      rectangle, and its result is gathered;
    - a weight slice to the length, added to rows, becomes a position embedding.
      the positions.

    The model must set a result `[batch, seq, ...]` to zero at padding (`attn.mask %x,
    %mask with 0.0`, which importers add): the scatter replaces it. A function without
    a mask argument is not changed.

    Pre-condition: shapes are inferred; attention is fused.
    Post-condition: all results are unchanged.

    Rejects, reported with the operation that prevents it: attention with no mask, a
    mask with another origin, or a finite masked value that is data; a matmul, norm or
    softmax along the length; a reshape or transpose that moves batch or length; a
    causal attention or a query mask together with `keep_first`, unless it has a
    window or a bias by position; a bias that depends on the length; several mask
    arguments of which none is the padding mask; a result that has values at padding.

    Example:
    ```mlir
    %x = attn.embedding %ids, %table : [batch, seq] i64, [100, 64] f32
    %z = attn.mask %x, %visible with 0.0 : [batch, seq, 64] f32, [batch, seq, 1] i1
    // becomes
    %s = attn.ragged_batch %mask : [batch, seq] i64 -> <rows, keys>
    %r = attn.gather_rows %ids, %s : [batch, seq] i64, <rows, keys>
    %x = attn.embedding %r, %table : [rows] i64, [100, 64] f32
    %z = attn.scatter_rows %x, %s to batch x seq : [rows, 64] f32, <rows, keys>
    ```
  }];
  let dependentDialects = ["::transom::attn::AttnDialect"];
  let statistics = [
    Statistic<"ragged", "ragged", "functions on ragged rows">,
    Statistic<"withPadding", "with-padding", "functions with a mask that compute padding rows">];
}

def AddAttentionEntryPass : Pass<"attn-add-attention-entry", "::mlir::ModuleOp"> {
  let summary = "adds an entry that returns attention weights";
  let description = [{
    Does nothing unless the module has the attribute `transom.attention`.

    The new entry, `@attention`, is the first of these that exists:
    - For an encoder-decoder, a copy of its encoder, its entry with kind `source` and its
      step, in this order. It takes the encoder's arguments and `decoder_input_ids
      [batch, target]`. The keys and values that `source` stores in read-only caches are
      passed directly as `[batch, seq, width]`, with the encoder's mask.
    - A copy of the first entry that takes token ids `[batch, seq]` and has an attention
      among these tokens.
    - A copy of the step in a decoder whose caches are used only by its own attentions. It
      takes `input_ids [batch, seq]`.

    In a step's copy, sequences have one length, and it returns the results for all tokens
    `[batch, seq, ...]`. It has batch * seq rows; attention and positions see the batch,
    and there are no caches.

    The copy's results are followed by the weights `[batch, heads, queries, keys]` of each
    `attn.sdpa`: `attentions.0`, `attentions.1`, ..., for an encoder-decoder
    `encoder_attentions.0`, ..., `decoder_attentions.0`, ..., `cross_attentions.0`, ...
    They are softmax(scale * Q K^T + mask) with zeros at padding, computed by a second
    `attn.sdpa` with the same query and key, whose values are unit vectors: a key's value
    is one at the key's column. So they include the attention's masks, windows, biases and
    key-value heads, and the copy's other operations are the same as in the original.

    The copy has its own symbols for batch and lengths: `attention_batch` with at most 4,
    and `attention_seq` and `attention_target` with at most 512 and the original's
    maximum, because weights need memory quadratic in the length.

    `transom.attention_layers` and `transom.attention_heads`, integer arrays, select
    layers and heads. Results are named by the original layer index and contain the
    selected heads in order. A layer with none of the selected heads has no result.

    The copy reads copies of the weights, so that later passes, which look for other
    readers of a weight, transform the other entries as without the copy. Equal weights
    are merged when they are packed.

    Pre-condition: attention is fused, padding is removed, layers are not outlined.
    Post-condition: all other entries are unchanged, and later passes transform them in
    the same way.

    Rejects nothing. A module without such an entry is not changed.

    Example, within the copy:
    ```mlir
    %y = attn.sdpa %q, %k, %v ragged(%s : <rows, keys>) heads 2 kv_heads 2 scale 0.5 <ragged>
         : [rows, 8] f32
    // is followed by
    %p = attn.position <column> %ids ragged(%s : <rows, keys>) : [rows] i64
    %u = attn.embedding %p, %unit_vectors : [rows] i64, [512, 1024] f32
    %w = attn.sdpa %q, %k, %u ragged(%s : <rows, keys>) heads 2 kv_heads 2 scale 0.5 <ragged>
         : [rows, 8] f32, [rows, 8] f32, [rows, 1024] f32
    ```
  }];
  let dependentDialects = ["::transom::attn::AttnDialect", "::mlir::func::FuncDialect"];
  let statistics = [Statistic<"added", "added", "entries added">];
}

def SummarizeLogitsPass : Pass<"attn-summarize-logits", "::mlir::ModuleOp"> {
  let summary = "adds logits summaries to step results";
  let description = [{
    Applies to an entry with an `attn.decode_batch` and the attribute
    `transom.vocabulary` whose only result is named `logits` and as wide as the
    vocabulary. Two results are added: `maxima` and `sums`, an `attn.row_summary` of the
    logits. Search and sampling read them instead of whole logits rows. The entry's
    caller may omit them (see `kern.row_summary`).

    Pre-condition: results have inferred types.
    Post-condition: all other results and entries are unchanged.

    Rejects nothing. A step that returns hidden states or labels is not changed.

    Example:
    ```mlir
    // In a step that returns %logits, and then %logits, %maxima and %sums:
    %maxima, %sums = attn.row_summary %logits : [rows, 1000] f32
    ```
  }];
  let dependentDialects = ["::transom::attn::AttnDialect"];
  let statistics = [Statistic<"summarized", "summarized", "entries with a summary">];
}

def OutlineLayersPass : Pass<"attn-outline-layers", "::mlir::ModuleOp"> {
  let summary = "outlines repeated equal layers into one body";
  let description = [{
    Finds runs of equal operation groups in a public function: equal in operations,
    attributes, types and data flow, and different only in the weights and caches that
    they read. One tensor is passed from group to group; all other values that a group
    reads are weights, caches, constants, or one value that is defined before the run (a
    ragged batch, a mask). A run with two or more groups becomes a private function and
    one `attn.layers` with a row of weights and caches for each group. Attentions that
    differ only in their scale (divided by the layer number) get one scale; the quotient
    is multiplied into the query's weight and bias. Alternating layers of two kinds
    (windows in every second one) are groups with two layers, and a single remaining
    layer stays in place. Locations decide between equally long runs (a group should have
    one numbered module path, or begin one); otherwise they have no influence. Operations
    in the body get the fused location of all operations that they replace:
    `encoder.layer.{0-11}.output`.

    The pass takes linear time in the operation count, for groups with up to 512
    operations.

    Pre-condition: the passes that report single layers have run.
    Post-condition: no run of equal layers with one passed tensor remains; each run has
    its own body.

    Rejects, reported at the attention's location: a different scale if the query is not
    a GEMM with a weight that has no other reader. At the first group's location: groups
    that pass more than one tensor; a group with an internal value that is read outside;
    a layer that differs from its neighbors.

    Example:
    ```mlir
    %1 = attn.linear %0, %w0 : [4, 8] f32, [8, 8] f32
    %2 = attn.activation <relu> %1 : [4, 8] f32
    %3 = attn.linear %2, %w1 : [4, 8] f32, [8, 8] f32
    %4 = attn.activation <relu> %3 : [4, 8] f32
    // becomes
    %4 = attn.layers %0 [@layer(@w0), @layer(@w1)] : [4, 8] f32
    ```
  }];
  let dependentDialects = ["::transom::attn::AttnDialect", "::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"runs", "runs", "layer runs outlined">,
    Statistic<"rows", "rows", "layers that run a body">];
}

def DropUnusedWeightsPass : Pass<"attn-drop-unused-weights", "::mlir::ModuleOp"> {
  let summary = "erases unused weights and caches";
  let description = [{
    Fusions create new weights from existing ones and do not erase the old symbols.
    This pass erases each `attn.weight`, `attn.cache` and private function without uses
    in an `attn.get_weight`, an `attn.get_cache` or a layer entry.

    Pre-condition: none. Post-condition: each weight and cache is read.
    Rejects nothing.

    Example, in which no operation uses `@old`:
    ```mlir
    attn.weight @old : [4] f32 = #weight.expr<file("old")>
    attn.weight @used : [4] f32 = #weight.expr<file("used")>
    // becomes
    attn.weight @used : [4] f32 = #weight.expr<file("used")>
    ```
  }];
  let dependentDialects = ["::transom::attn::AttnDialect"];
  let statistics = [Statistic<"dropped", "dropped", "weights and caches erased">];
}

#endif // TRANSOM_PASSES_GRAPH_PASSES_TD
