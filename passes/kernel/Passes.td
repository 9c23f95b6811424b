// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel passes: from what a model means to phases on planned memory.
#ifndef TRANSOM_PASSES_KERNEL_PASSES_TD
#define TRANSOM_PASSES_KERNEL_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertAttnToKernPass : Pass<"convert-attn-to-kern", "::mlir::ModuleOp"> {
  let summary = "turns tensors into buffers and operations into kernels";
  let description = [{
    Each tensor becomes a buffer, each operation one or a few operations of kern
    that write the buffer of its result. An entry gets a buffer argument for
    each result; a layer body updates its state in place. Reshapes become views.

    An `attn.linear` whose weight is an activation becomes a
    `kern.batch_matmul`.

    Pre-condition: shapes are inferred. Post-condition: no attn operation
    remains.

    Over rows of `attn.ragged_batch`, whose columns may have gaps, attention with
    a window, slopes, a relative bias or relative positions gets `by_column`: distances are
    differences of columns then.

    Refuses, with an error at the operation's location: a ragged mask that is not
    an input of the entry; two attentions with one cache; an attention over
    `attn.decode_batch` without a cache, or with one over another ragged batch;
    several `attn.decode_batch`; a bias of attention, or a gamma or beta, that is
    not a weight; an operation that kern does not have.

    Example:
    ```mlir
    %y = attn.softmax %x : [4, 8] f32
    // becomes
    %y = kern.alloc : !kern.buffer<[4, 8] x f32>
    kern.softmax %x outs(%y) : !kern.buffer<[4, 8] x f32>, !kern.buffer<[4, 8] x f32>
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
  let statistics = [Statistic<"converted", "converted", "attn operations that became kernels">];
}

def FuseGluPass : Pass<"kern-fuse-glu", "::mlir::ModuleOp"> {
  let summary = "makes the gate of an MLP in the registers of one product";
  let description = [{
    `activation(g) * u`, where g and u are two products of one input, or the two
    halves of one product, becomes one product whose weight has 8 rows of g and 8
    of u in turn. Neither factor is written to memory.

    Pre-condition: each buffer is written once, activations have not joined
    products. Post-condition: such a product has an epilogue `glu`.

    Refuses: factors of different inputs or widths, of a width that is not a multiple
    of 8, or with one bias; a factor that is not a product, or one with an epilogue;
    weights that something else reads too; a k of several passes; a result in the
    buffer of the product's input.

    Example:
    ```mlir
    kern.gemm %x, %g outs(%a) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, unset>, !kern.buffer<[rows, 16] x f32>
    kern.gemm %x, %u outs(%b) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, unset>, !kern.buffer<[rows, 16] x f32>
    kern.elementwise ins(%a, %b) outs(%y) {
    ^bb0(%v: f32, %w: f32):
      %s = kern.apply <silu> %v
      %p = arith.mulf %s, %w : f32
      kern.yield %p : f32
    } : (!kern.buffer<[rows, 16] x f32>, !kern.buffer<[rows, 16] x f32>) -> !kern.buffer<[rows, 16] x f32>
    // becomes
    kern.gemm %x, %gu outs(%y) epilogue <glu silu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[32, 8] x f32, unset>, !kern.buffer<[rows, 16] x f32>
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect", "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"glus", "glus", "GLUs that joined a product">];
}

def FuseEpiloguesPass : Pass<"kern-fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "lets products finish their tiles: activation, residual, head split";
  let description = [{
    What follows a product and is its only reader joins it: an activation; a
    residual that is added; slices that together are all its columns, which
    become its `outs`; key panels, which it then writes itself. A summary of what
    it writes joins it beside other readers.

    Pre-condition: each buffer is written once. Post-condition: no product is
    followed by its own activation or residual alone.

    Refuses: a product that makes a GLU; another reader of the product; a residual
    that is broadcast; a result
    in the buffer of the product's input; a residual in the buffer of the result
    where an activation or a long K makes tiles wait there; slices with a gap, of
    a shared weight, or written to what a layer updates in place.

    Example:
    ```mlir
    kern.gemm %x, %w bias %b outs(%t) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, unset>, !kern.weight<[16] x f32, unset>, !kern.buffer<[rows, 16] x f32>
    kern.elementwise ins(%t) outs(%y) {
    ^bb0(%v: f32):
      %g = kern.apply <gelu> %v
      kern.yield %g : f32
    } : (!kern.buffer<[rows, 16] x f32>) -> !kern.buffer<[rows, 16] x f32>
    // becomes
    kern.gemm %x, %w bias %b outs(%y) epilogue <gelu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, unset>, !kern.weight<[16] x f32, unset>, !kern.buffer<[rows, 16] x f32>
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect"];
  let statistics = [
    Statistic<"activations", "activations", "activations that joined a product">,
    Statistic<"residuals", "residuals", "residuals that joined a product">,
    Statistic<"splits", "splits", "products that write their slices">,
    Statistic<"keys", "key-panels", "products that write key panels">,
    Statistic<"summaries", "summaries", "products that summarize their rows">];
  let options = [
    Option<"keyPanels", "key-panels", "bool", "true", "let products write key panels">];
}

def FuseNormPass : Pass<"kern-fuse-norm", "::mlir::ModuleOp"> {
  let summary = "fuses a norm into a product: the worker that completes rows normalizes them";
  let description = [{
    A norm that is the first reader of a product's result joins the product: the
    worker that finishes the last tile of a block of rows, counted by an atomic
    word, normalizes these rows while they are in its cache. No worker waits, and
    a barrier is gone. Others may read the result after the norm.

    Pre-condition: epilogues are fused. Post-condition: such a product names the
    norm's weights and writes `norm_out`.

    Refuses: a reader or writer of the product between both; a norm that
    overwrites the product or its operand, or follows an op that does; a norm
    that is rounded already; several outs; a product that makes a GLU or has a
    norm already.

    Example:
    ```mlir
    kern.gemm %x, %w residual %r outs(%t) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, unset>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
    kern.norm %t, %g, %h outs(%y) eps 1.0e-12 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
    // becomes
    kern.gemm %x, %w residual %r norm %g beta %h norm_out %y counters %c outs(%t) epilogue <layer_norm 1.0e-12>
        : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, unset>, !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 8] x f32>
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect", "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"fused", "fused", "norms that joined a product">];
}

def ChoosePrecisionPass : Pass<"kern-choose-precision", "::mlir::ModuleOp"> {
  let summary = "products and attention in bf16, with sums in f32";
  let description = [{
    Where the module says `transom.dtype = "bf16"`, weights of products and
    tables of embeddings become bf16, and so does what products and attention
    read. The hidden state, norms, softmax and elementwise operations stay f32.
    What is read in bf16 is rounded by its producer: a product or attention that
    nothing else reads, a norm (beside its f32 result where that is read too), a
    pool, an elementwise region; else by a `kern.cast`. A state that layers read in bf16 is
    carried from layer to layer in a second buffer that the last norm writes.
    `transom.kv_dtype` gives the type of caches of keys and values (`storageTypes` of
    runtime/weights/OperandFormat.cpp); what is appended is rounded then. With "bf16"
    the queries that meet them are bf16, too. With "int8" each key and value of a head
    is stored in bytes with a scale. `transom.quantize` is the format of weights of
    products and of tables that these read, in groups; what the products read becomes
    whole numbers with scales, once until it is written again: by the norm, the product or
    the attention that writes it, else by a `kern.quantize`. Such a state is carried, too.
    `transom.quantize_head` is that of the last products before results, which make
    logits; `transom.quantize_embeddings` that of tables which no product reads, where
    they take fewer bytes so. Each may be "none": these weights are f32 then, even if files
    have whole numbers of them. With `transom.activations = "f32"` what products read
    stays f32.
    `transom.dtype` is for the other weights then.
    A weight whose expression moves whole rows of tensors that files have in groups of
    whole numbers keeps these numbers and scales, without any attribute, as does a
    table of embeddings; another expression over such tensors is rounded to whole
    numbers anew, or a table of f32.

    Pre-condition: fusions are done, weights have no layout. Post-condition: a
    product's input is bf16 exactly when its weight is.

    Refuses: a weight that something else reads in f32; attention and caches with heads of an
    odd size, or with keys that are not made for it alone; a cast or a `kern.quantize` whose producer
    cannot round; whole numbers where k is no multiple of 4.

    Example:
    ```mlir
    kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
    kern.gemm %y, %w outs(%z) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, unset>, !kern.buffer<[rows, 8] x f32>
    // becomes
    kern.norm %x, %g outs(%h) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x bf16>
    kern.gemm %h, %v outs(%z) : !kern.buffer<[rows, 8] x bf16>, !kern.weight<[8, 8] x bf16, unset>, !kern.buffer<[rows, 8] x f32>
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect", "::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"products", "products", "products in bf16 or of whole numbers">,
    Statistic<"attentions", "attentions", "attention in bf16">,
    Statistic<"caches", "caches", "caches of another type than f32">,
    Statistic<"fused", "fused", "casts and quantizations that a producer took over">,
    Statistic<"casts", "casts", "casts and quantizations that stay">];
}

def PackWeightsPass : Pass<"kern-pack-weights", "::mlir::ModuleOp"> {
  let summary = "chooses layout and place of each weight";
  let description = [{
    The weight of a product lies in panels of 32 columns, its bias padded alike,
    everything else in rows; equal weights are stored once. Each gets an offset,
    a multiple of 64 bytes. No data is touched.

    Pre-condition: uses of weights are final. Post-condition: each weight has a
    layout and an offset, and all types agree. A weight that is needed both in
    panels and in rows outside embeddings is stored twice.

    Example:
    ```mlir
    kern.weight @q : !kern.weight<[64, 64] x f32, unset> = #weight.expr<file("q")>
    // becomes
    kern.weight @q : !kern.weight<[64, 64] x f32, panels32> = #weight.expr<file("q")> {offset = 0 : i64}
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect"];
  let statistics = [
    Statistic<"packed", "packed", "weights in panels">,
    Statistic<"bytes", "bytes", "bytes of all weights">];
}

def FuseCrossLayerNormPass : Pass<"kern-fuse-cross-layer-norm", "::mlir::ModuleOp"> {
  let summary = "lets the last product of a layer make the norm that begins the next";
  let description = [{
    Where all bodies of layers begin with a norm of the state and end with a
    product that writes it, that product normalizes its rows with the weights of
    the next layer. The normalized rows are an argument of the bodies beside the
    state. The first norm comes before the layers; a norm of gathered rows after
    them becomes that of the last layer, and the gather takes its rows.

    Pre-condition: types of buffers are final, each body has one call site.
    Post-condition: a layer has a barrier less.

    Refuses: layers that begin or end otherwise; norms that differ in more than
    their weights, or whose weights or results have other readers.

    Example:
    ```mlir
    kern.layers %x [@layer(@n0, @w0), @layer(@n1, @w1)] : !kern.buffer<[rows, 8] x f32>
    // becomes
    kern.norm %x, %n0 outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
    kern.layers %x invariants(%y : !kern.buffer<[rows, 8] x f32>) [@layer(@n1, @w0), @layer(@n1, @w1)] : !kern.buffer<[rows, 8] x f32>
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect", "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"carried", "carried", "norms that joined a product of another layer">];
}

def PlanCachesPass : Pass<"kern-plan-caches", "::mlir::ModuleOp"> {
  let summary = "gives each layer its place in the blocks of a cache";
  let description = [{
    Caches of equal window, positions and type are a group, which has a table of blocks of
    its own: after a window blocks become free. A block holds 256 positions of
    all layers of the group, in the order of their definition.

    Pre-condition: types of caches are final. Post-condition: each cache has a
    group and an offset; `kern.cache_groups` of the module lists window, type,
    layers and bytes of a block of each group, and of a read-only one the
    positions of a sequence.

    Example:
    ```mlir
    kern.cache @a : !kern.cache<heads 1, key 8, value 8, f32>
    kern.cache @b : !kern.cache<heads 1, key 8, value 8, f32>
    // becomes
    kern.cache @a : !kern.cache<heads 1, key 8, value 8, f32> {group = 0 : i64, offset = 0 : i64}
    kern.cache @b : !kern.cache<heads 1, key 8, value 8, f32> {group = 0 : i64, offset = 16384 : i64}
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect"];
  let statistics = [
    Statistic<"caches", "caches", "caches placed">,
    Statistic<"groups", "groups", "groups of caches">];
}

def FormPhasesPass : Pass<"kern-form-phases", "::mlir::ModuleOp"> {
  let summary = "cuts the operations into phases between barriers";
  let description = [{
    Each operation joins the first phase from which on it needs nothing that
    another worker makes, and nothing there needs what it overwrites: they touch different buffers, or each
    worker reads only rows that it wrote itself. What reads a cache never shares a
    phase with what appends to one, nor what uses a bounded size with what writes it. A phase has at most 64 operations, so that
    the time of code generation is linear in the number of operations and
    buffers of long chains share memory.

    An attention that needs nothing of the phase before but queries, keys and
    values that products make there as columns gets `head_ranges`, if two or more
    ranges of its heads are whole panels of 32 columns in each of them: the
    runtime leaves out the barrier between both phases in short calls.

    Pre-condition: fusions are done. Post-condition: every operation on buffers
    is in a phase with a name of its own, after its first product or attention.

    Example:
    ```mlir
    kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
    // becomes
    kern.phase "encode.0.norm" {
      kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
    }
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect"];
  let statistics = [
    Statistic<"phases", "phases", "phases made">,
    Statistic<"joined", "joined", "operations that need no barrier before them">];
}

def PlanMemoryPass : Pass<"kern-plan-memory", "::mlir::ModuleOp"> {
  let summary = "gives each buffer an offset in the arena, for all sizes";
  let description = [{
    Lifetimes are counted in phases. What one of two phases uses between which some
    calls have no barrier is used in both. A buffer that layers read or update lives
    through all of them. Offsets are polynomials in the entry's symbols that
    hold for every value. A bounded size counts as its bound. Rows whose length
    is a multiple of 4096 bytes, in bf16 of 512, are padded first, since they
    fall on the same cache sets.

    Pre-condition: phases are formed. Post-condition: each alloc has a slot; the
    entry has `kern.buffers`, `kern.arena_bytes` and `kern.arena_lower_bound`.

    Example:
    ```mlir
    %y = kern.alloc : !kern.buffer<[rows, 768] x f32>
    // becomes
    %y = kern.alloc {slot = 0 : i64} : !kern.buffer<[rows, 768] x f32>
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect"];
  let statistics = [
    Statistic<"buffers", "buffers", "buffers placed">,
    Statistic<"padded", "padded", "buffers whose rows were padded">];
}

def ConvertKernToOnednnPass : Pass<"convert-kern-to-onednn", "::mlir::ModuleOp"> {
  let summary = "hands products, softmax and norms to oneDNN";
  let description = [{
    Each of them becomes a `kern.onednn`, which the runtime executes by one call
    of oneDNN; bias, activation and residual of a product are part of the call.
    Other operations keep their generated code: attention, embeddings, data
    movement.

    Pre-condition: epilogues are fused, weights have no layout yet.
    Post-condition: each operation that oneDNN has is converted, and its weights
    have the layout `rows`.

    Not converted:
    - a product with several outs, key panels, a GLU or a fused norm;
    - an activation that oneDNN lacks;
    - an RMSNorm;
    - elements that are not f32;
    - more than 8 dimensions;
    - a product of activations that writes what it reads.

    Example:
    ```mlir
    kern.gemm %x, %w bias %b outs(%y) epilogue <gelu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, unset>, !kern.weight<[16] x f32, unset>, !kern.buffer<[rows, 16] x f32>
    // becomes
    kern.onednn <matmul> %x weights(%w, %b) outs(%y) activation <gelu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, rows>, !kern.weight<[16] x f32, rows>, !kern.buffer<[rows, 16] x f32>
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect"];
  let statistics = [
    Statistic<"products", "products", "products with a weight that oneDNN does">,
    Statistic<"batchProducts", "batch-products", "products of activations that oneDNN does">,
    Statistic<"softmaxes", "softmaxes", "softmaxes that oneDNN does">,
    Statistic<"norms", "norms", "norms that oneDNN does">];
}

#endif // TRANSOM_PASSES_KERNEL_PASSES_TD
