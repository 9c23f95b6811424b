// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph passes: from what a model says to fewer, larger operations of the
// same dialect. Each description says what a pass matches, what holds before
// and after, what it refuses and why.
#ifndef TRANSOM_PASSES_GRAPH_PASSES_TD
#define TRANSOM_PASSES_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def InferShapesPass : Pass<"attn-infer-shapes", "::mlir::ModuleOp"> {
  let summary = "gives every result the type of its shape rule";
  let description = [{
    Visits the operations of functions in order and gives each result of a `ShapeInferable`
    operation the type that its rule makes of the operands; then the results of
    the functions. The body of an `attn.layers` takes its parameters' types from
    the first operation that runs it, and must give back the state's type.

    Pre-condition: arguments of public functions are ranked.
    Post-condition: no result is `tensor<*xT>`.

    Refuses with an error at the operation's location, with both shapes: operands
    that break a rule; a result whose written type differs from the inferred
    one; a body that changes the state's type; a result that stays unranked
    since its operation has no rule.

    Example:
    ```mlir
    %y = "attn.softmax"(%x) : (tensor<2x4xf32>) -> tensor<*xf32>
    // becomes
    %y = attn.softmax %x : [2, 4] f32
    ```
  }];
  let dependentDialects = ["::transom::attn::AttnDialect"];
  let statistics = [
    Statistic<"refined", "refined", "results that were unranked before">];
}

def FuseAttentionPass : Pass<"attn-fuse-attention", "::mlir::ModuleOp"> {
  let summary = "fuses matmul, scale, mask, softmax, matmul into attn.sdpa";
  let description = [{
    Starts at each `attn.softmax` and follows the chain of operations in both
    directions:
    - probabilities: their one user is a matmul that has them on the left;
      constant factors between, and those of the value, apply to the result;
    - scores: back through constant scales (`scale`, `mul`, `div`) and masks
      (`add` of a broadcastable float tensor, `mask`, `where` with a constant)
      to a matmul of two activations. A tanh between constant factors and after
      all masks is a soft cap;
    - heads: an operand `[batch, heads, len, d]` is a transpose of
      `[batch, len, heads, d]`, which is a reshape of `[batch, len, heads*d]`;
      any permutation is followed, with `transpose_rhs` or without it; scales of
      query or key are taken along. A tensor `[batch, len, d]` is one head. An
      operand of other origin gets a transpose and a reshape of its own. Keys
      and values with one head under a query of several are shared by all; so
      are heads that are repeated side by side, `concat` of equal tensors
      `[.., kv_heads, 1, ..]` that a reshape makes `[.., heads, ..]`;
    - merge: a transpose and a reshape after the product are absorbed.

    Masks. Bool masks that hide with minus infinity are joined by `and`;
    `[batch, 1, 1, k]` becomes mask kind `keys`, any other `select`. Float masks
    are summed and stay `additive`; beside them a bool mask is turned into
    minus infinity where it hides. A finite value of -1e30 or less counts as
    minus infinity: only a row whose keys are all masked can tell, it then gives
    zeros in place of a mean. `0 / value` float masks made of a bool mask in that
    way are bool masks again. A finite value above -1e30 is data: it becomes
    `mask_value`, or stays additive. A mask, bool or float, that shows keys up to
    the diagonal and hides all others with minus infinity becomes `causal` if
    there are as many queries as keys. Its elements are computed from
    `attn.constant` and from weights that are a `triangle`, through slices,
    transposes, casts, arithmetic and choices. A mask that is made of a triangle
    and of others (`and`, a product of 0 and 1, a sum of added masks) is taken
    apart for that.

    Pre-condition: shapes are inferred.
    Post-condition: a chain without a reason below is one `attn.sdpa`.

    Refuses, reported at the softmax's location: scores or probabilities with a
    second use; an operation of another kind between the links; probabilities on
    the right or transposed; a scale that is not a constant or not positive after
    a mask; a mask that enlarges the scores, or that is in front of a soft cap; a
    masked value that another mask follows; operands whose last sizes are symbols; query, key and value of
    different batches, head counts or lengths. Two products without a softmax
    between them are reported, too.

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
    Statistic<"refused", "refused", "softmaxes left as they are">];
}

def FuseProjectionsPass : Pass<"attn-fuse-projections", "::mlir::ModuleOp"> {
  let summary = "joins the projections of one attention into one product";
  let description = [{
    For each `attn.sdpa` those of query, key and value, and for each `attn.append`
    those of key and value: the ones that input become one `attn.linear` with a new weight `concat(0, ...)` of their
    weights, and a slice for each of them. Rope, norms, reshapes and scales between
    projection and attention are allowed if nothing else reads them; they then
    apply to the slice. Biases are joined, too; a projection without a bias gets
    zeros if another one has a bias.

    Pre-condition: shapes are inferred; attention is fused.
    Post-condition: no attention reads two plain linears of one input.

    Refuses, reported at the attention's location: projections with different inputs
    (positions added to query and key, but not to value: then query and key are
    fused and value stays); a projection that another operation reads too; a
    weight that is not an `attn.get_weight` or that is also read elsewhere than in
    groups of the same weights (tied). Equal groups, of repeated layers or of two
    entries, read one new weight.

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
    Statistic<"joined", "joined", "projections joined">];
}

def RemovePaddingPass : Pass<"attn-remove-padding", "::mlir::ModuleOp"> {
  let summary = "turns a batch with padding into ragged rows";
  let description = [{
    For each public function with a mask argument `[batch, seq]` (`attn.role` =
    "mask"): every value `[batch, seq, ...]` becomes `[rows, ...]`, one row for
    each token that the mask keeps. `attn.ragged_batch` of the mask says which rows
    are a sequence; arguments are gathered, results scattered back with zeros at
    the padding. Operations that work on each row alone are repeated on rows.
    Operations that mix positions have rules of their own:
    - `attn.sdpa` of rows with a mask that follows from the argument (casts,
      reshapes, `and`, products; also as outer product of queries and keys) gets
      mask kind `ragged`;
    - `attn.pool` gets the ragged batch, and of a mask joined with others by `and`
      all of it; `first`, or a slice of column 0, makes them `keep_first`, since the
      mask may hide that column;
    - attention goes by the columns of the tokens for windows, slopes, a relative
      bias and relative positions, so a mask may have holes;
    - `attn.neighbors` of rows with the mask gets the ragged batch;
    - `attn.position`: a `column` is counted by the ragged batch; a `nonpad_rank`
      stays on the rectangle, and its result is gathered;
    - a slice of a weight to the length, added to rows, becomes an embedding of
      the positions.

    A result `[batch, seq, ...]` has to be set to zero at padding by the model
    (`attn.mask %x, %mask with 0.0`, as importers write it): the scatter does
    that. A function without a mask argument is left alone.

    Pre-condition: shapes are inferred; attention is fused.
    Post-condition: all results are what they were.

    Refuses, reported with the operation that kept it so: attention with no
    mask, a mask of other origin, or a finite masked value that is data; a
    product, norm or softmax along the length; a reshape or transpose that moves
    batch or length; a causal attention or a mask of queries together with
    `keep_first`, unless it has a window or a bias by position; a bias that
    depends on the length; several mask arguments none of which is that of padding;
    a result that keeps its values at padding.

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
    Statistic<"withPadding", "with-padding", "functions with a mask that compute rows of padding">];
}

def AddAttentionEntryPass : Pass<"attn-add-attention-entry", "::mlir::ModuleOp"> {
  let summary = "adds an entry that returns attention weights";
  let description = [{
    Does nothing unless the module has the attribute `transom.attention`.

    The new entry, `@attention`, is one of these, the first that there is:
    - Of an encoder-decoder a copy of its encoder, of its entry of kind `source` and of its
      step, one after the other. It takes the encoder's arguments and `decoder_input_ids
      [batch, target]`. The keys and values that `source` stores in read-only caches go
      from one to the other as `[batch, seq, width]`, with the encoder's mask.
    - A copy of the first entry that takes token ids `[batch, seq]` and has an attention of
      these tokens among each other.
    - A copy of the step of a decoder whose caches its own attentions alone use. It takes
      `input_ids [batch, seq]`.

    In a copy of a step, sequences have one length, and its results are those of all tokens
    `[batch, seq, ...]`. Rows are batch * seq there; attention and positions see the batch,
    and there are no caches.

    After the results of the copy come the weights `[batch, heads, queries, keys]` of each
    `attn.sdpa`: `attentions.0`, `attentions.1`, ..., of an encoder-decoder
    `encoder_attentions.0`, ..., `decoder_attentions.0`, ..., `cross_attentions.0`, ...
    They are softmax(scale * Q K^T + mask) with zeros at padding: the result of a second
    `attn.sdpa` of the same query and key whose values are unit vectors; that of a key is
    one at its column. So they have the masks, windows, biases and key-value heads of the
    attention, and the other operations of the copy are those of the original.

    Batch and lengths of the copy are symbols of their own, `attention_batch` of at most 4,
    and `attention_seq` and `attention_target` of at most 512 and the original's maximum,
    since weights take memory by the square of the length.

    `transom.attention_layers` and `transom.attention_heads`, arrays of numbers, choose
    layers and heads. Results keep the numbers of their layers, and have the chosen heads
    in order. A layer without any of these has no result.

    The copy reads copies of the weights, so that later passes, which ask who else reads
    a weight, do with the other entries what they would do without it. Equal weights become
    one when they are packed.

    Pre-condition: attention is fused, padding is removed, layers are not outlined.
    Post-condition: all other entries are what they were, and so is what later passes make
    of them.

    Refuses nothing. A module without such an entry stays as it is.

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
  let summary = "adds the summary of the logits to the results of a step";
  let description = [{
    An entry with an `attn.decode_batch` and the attribute `transom.vocabulary`
    whose one result is named `logits` and as wide as the vocabulary gets two more
    results: `maxima` and `sums`, an `attn.row_summary` of the logits. Search and
    sampling read them instead of whole rows of logits. The caller of the entry
    may leave them out (see `kern.row_summary`).

    Pre-condition: results have inferred types.
    Post-condition: all other results and entries are what they were.

    Refuses nothing. A step of hidden states or labels stays as it is.

    Example:
    ```mlir
    // Of a step that returns %logits, and then %logits, %maxima and %sums:
    %maxima, %sums = attn.row_summary %logits : [rows, 1000] f32
    ```
  }];
  let dependentDialects = ["::transom::attn::AttnDialect"];
  let statistics = [Statistic<"summarized", "summarized", "entries with a summary">];
}

def OutlineLayersPass : Pass<"attn-outline-layers", "::mlir::ModuleOp"> {
  let summary = "makes one body of repeated equal layers";
  let description = [{
    Finds runs of equal groups of operations in a public function: equal in
    operation, attributes, types and data flow, different only in the weights
    and caches they read. From group to group one tensor is carried; all else
    that a group reads is a weight, a cache, a constant, or one value that is
    defined before the run (a ragged batch, a mask). A run of two or more groups becomes a
    private function and one `attn.layers` with a row of weights and caches for
    each group. Attentions that differ in their scale alone (divided by the
    number of the layer) get one scale; the quotient goes into the query's weight
    and bias. Layers of two kinds in turn (windows in every second one) are groups
    of two, and one layer that is over stays where it is. Locations break ties
    between equally long runs (a group should have one numbered module path, or
    begin one); otherwise they have no influence. Operations in the body get
    the fused location of all operations that they replace: `encoder.layer.{0-11}.output`.

    Time is linear in the number of operations for groups of up to 512.

    Pre-condition: the passes that report single layers have run.
    Post-condition: no run of equal layers with one carried tensor is left; each
    run has a body of its own.

    Refuses, reported at the attention's location: a scale of its own where the
    query is not a product with a weight of its own. At the first group's location:
    groups with more than one carried tensor; a group that another operation reads
    from inside; a layer that differs from its neighbours.

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
    Statistic<"runs", "runs", "runs of layers outlined">,
    Statistic<"rows", "rows", "layers that run a body">];
}

def DropUnusedWeightsPass : Pass<"attn-drop-unused-weights", "::mlir::ModuleOp"> {
  let summary = "erases weights and caches that nothing reads";
  let description = [{
    A fusion makes new weights of old ones and leaves the old symbols in place.
    This erases each `attn.weight`, `attn.cache` and private function that no
    operation names: no `attn.get_weight`, no `attn.get_cache`, no entry of layers.

    Pre-condition: none. Post-condition: each weight and cache is read.
    Refuses nothing.

    Example, where no operation names `@old`:
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
