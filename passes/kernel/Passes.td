// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel passes: lower models to phases on planned memory.
#ifndef TRANSOM_PASSES_KERNEL_PASSES_TD
#define TRANSOM_PASSES_KERNEL_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertAttnToKernPass : Pass<"convert-attn-to-kern", "::mlir::ModuleOp"> {
  let summary = "converts tensors to buffers and attn operations to kernels";
  let description = [{
    Each tensor becomes a buffer, and each operation becomes one or a few kern
    operations that write its result's buffer. An entry gets a buffer argument for each
    result; a layer body updates its state in place. Reshapes become views.

    An `attn.linear` whose weight is an activation becomes a `kern.batch_matmul`.

    Pre-condition: shapes are inferred. Post-condition: no attn operation remains.

    Over rows of `attn.ragged_batch`, whose columns may have gaps, attention with a
    window, slopes, a relative bias or relative positions gets `by_column`: distances are
    then differences between columns.

    Fails with an error at the operation's location for: a ragged mask that is not an
    entry input; two attentions with one cache; an attention over `attn.decode_batch`
    without a cache, or an attention with a cache over another ragged batch; an
    `attn.append` over a ragged batch with `keep_first`; more than one
    `attn.decode_batch`; an attention bias, gamma or beta that is not a weight; an
    operation without a kern equivalent.

    Example:
    ```mlir
    %y = attn.softmax %x : [4, 8] f32
    // becomes
    %y = kern.alloc : !kern.buffer<[4, 8] x f32>
    kern.softmax %x outs(%y) : !kern.buffer<[4, 8] x f32>, !kern.buffer<[4, 8] x f32>
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
  let statistics = [Statistic<"converted", "converted", "attn operations converted">];
}

def FuseGluPass : Pass<"kern-fuse-glu", "::mlir::ModuleOp"> {
  let summary = "fuses gated linear units into one GEMM";
  let description = [{
    `activation(g) * u`, where g and u are two GEMMs with one input, or the two halves
    of one GEMM, becomes one GEMM whose weight alternates 8 rows of g and 8 rows of u.
    The GEMM computes the result in registers, and neither factor is written to memory.

    Pre-condition: each buffer is written once, activations are not yet fused into
    GEMMs. Post-condition: a fused GEMM has `glu` in its epilogue.

    Rejects: factors with different inputs or widths, with a width that is not a
    multiple of 8, or with only one bias; a factor that is not a GEMM, or one with an
    epilogue; weights that have other readers; a k with several passes; a result in the
    buffer of the GEMM input.

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
  let statistics = [Statistic<"glus", "glus", "GLUs fused into a GEMM">];
}

def FuseEpiloguesPass : Pass<"kern-fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "fuses activations, residuals and head splits into GEMM epilogues";
  let description = [{
    Operations after a GEMM that are its only readers are fused into it: an activation;
    a residual that is added; slices that together cover all columns, which become its
    `outs`; key panels, which it then writes directly. A row summary of its result is
    fused even if there are other readers.

    Pre-condition: each buffer is written once. Post-condition: no GEMM is followed by
    an activation or residual that is its only reader.

    Rejects: a GEMM with `glu`; another reader of the GEMM; a broadcast residual; a
    result in the buffer of the GEMM input; a residual in the buffer of the result if an
    activation or a long K makes tiles wait there; slices with a gap, with a shared
    weight, or written to a buffer that a layer updates in place.

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
    Statistic<"activations", "activations", "activations fused into a GEMM">,
    Statistic<"residuals", "residuals", "residuals fused into a GEMM">,
    Statistic<"splits", "splits", "GEMMs that write their slices">,
    Statistic<"keys", "key-panels", "GEMMs that write key panels">,
    Statistic<"summaries", "summaries", "GEMMs that summarize their rows">];
  let options = [
    Option<"keyPanels", "key-panels", "bool", "true", "let GEMMs write key panels">];
}

def FuseNormPass : Pass<"kern-fuse-norm", "::mlir::ModuleOp"> {
  let summary = "fuses a norm into a GEMM: the worker that completes rows normalizes them";
  let description = [{
    A norm that is the first reader of a GEMM result is fused into the GEMM: the worker
    that completes the last tile in a block of rows, counted by an atomic word,
    normalizes these rows while they are in its CPU cache. No worker waits, and one
    barrier is removed. Other operations may read the result after the norm.

    Pre-condition: epilogues are fused. Post-condition: a fused GEMM has the norm's
    weights as operands and writes `norm_out`.

    Rejects: a reader or writer of the GEMM result between both; a norm that overwrites
    the GEMM result or input, or follows an op that does; a norm that is already
    rounded; several outs; a GEMM with `glu` or with a norm.

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
  let statistics = [Statistic<"fused", "fused", "norms fused into a GEMM">];
}

def ChoosePrecisionPass : Pass<"kern-choose-precision", "::mlir::ModuleOp"> {
  let summary = "chooses bf16, integer and f32 types for GEMMs, attention and caches";
  let description = [{
    Module attributes specify the types:
    - `transom.dtype = "bf16"`: GEMM weights and embedding tables become bf16, and so do
      the operands of GEMMs and attention. The hidden state, norms, softmax and
      elementwise operations stay f32. The producer of a bf16 operand rounds it: a GEMM
      or attention without other readers, a norm (in addition to its f32 result if that
      is read too), a pool, an elementwise region; else a `kern.cast`. A state that
      layers read in bf16 is passed from layer to layer in a second buffer that the last
      norm writes.
    - `transom.kv_dtype`: the key-value cache type (`storageTypes` in
      runtime/base/OperandFormat.cpp); appended values are rounded. With "bf16" the
      queries are also bf16. With "int8" each key and value per head is stored in bytes
      with a scale.
    - `transom.quantize`: the grouped format for GEMM weights, and for tables that GEMMs
      also read. GEMM operands are quantized once per write: by the norm, GEMM or
      attention that writes the operand, else by a `kern.quantize`. A quantized state is
      also passed from layer to layer. `transom.dtype` then applies to the other
      weights.
    - `transom.quantize_head`: the format for the last GEMMs before results, which
      compute logits.
    - `transom.quantize_embeddings`: the format for tables that no GEMM reads, if it
      reduces their size.
    - `transom.activations = "f32"`: GEMM operands stay f32.

    Each format may be "none": these weights are then f32, even if the files contain them
    as integers. Without any attribute, a weight or an embedding table whose expression
    moves whole rows from quantized tensors in the files keeps the integers and scales;
    other expressions over such tensors are quantized again, or become an f32 table.

    Pre-condition: fusions are done, weights have no layout. Post-condition: a GEMM
    input is bf16 exactly if its weight is.

    Rejects, and keeps f32 for: a weight that has other readers in f32; attention and
    caches with an odd head size, or with keys that have other readers; a cast or a
    `kern.quantize` whose producer cannot round; quantization if k is not a multiple
    of 4.

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
    Statistic<"products", "products", "GEMMs in bf16 or on integers">,
    Statistic<"attentions", "attentions", "attention in bf16">,
    Statistic<"caches", "caches", "caches with a type other than f32">,
    Statistic<"fused", "fused", "casts and quantizations fused into a producer">,
    Statistic<"casts", "casts", "casts and quantizations that remain">];
}

def PackWeightsPass : Pass<"kern-pack-weights", "::mlir::ModuleOp"> {
  let summary = "chooses the layout and offset of each weight";
  let description = [{
    GEMM weights are stored in panels with 32 columns, with their biases padded in the
    same way, and all other weights in rows; equal weights are stored once. Each weight
    gets an offset, a multiple of 64 bytes. The pass does not touch any data.

    Pre-condition: weight uses are final. Post-condition: each weight has a layout and
    an offset, and all types match. A weight that is needed both in panels and in rows
    outside embeddings is stored twice.

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
    Statistic<"bytes", "bytes", "total weight size in bytes">];
}

def FuseCrossLayerNormPass : Pass<"kern-fuse-cross-layer-norm", "::mlir::ModuleOp"> {
  let summary = "fuses the norm that begins a layer into the previous layer's last GEMM";
  let description = [{
    If all layer bodies begin with a norm of the state and end with a GEMM that writes
    it, that GEMM normalizes its rows with the next layer's weights. The normalized rows
    become an argument of the bodies, next to the state. The first norm is inserted
    before the layers; a norm of gathered rows after them becomes the last layer's norm,
    and the gather reads its rows.

    Pre-condition: buffer types are final, each body has one call site.
    Post-condition: a layer has one barrier less.

    Rejects: layers that begin or end differently; norms that differ in more than their
    weights, or whose weights or results have other readers.

    Example:
    ```mlir
    kern.layers %x [@layer(@n0, @w0), @layer(@n1, @w1)] : !kern.buffer<[rows, 8] x f32>
    // becomes
    kern.norm %x, %n0 outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
    kern.layers %x invariants(%y : !kern.buffer<[rows, 8] x f32>) [@layer(@n1, @w0), @layer(@n1, @w1)] : !kern.buffer<[rows, 8] x f32>
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect", "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"carried", "carried", "norms fused into the previous layer">];
}

def PlanCachesPass : Pass<"kern-plan-caches", "::mlir::ModuleOp"> {
  let summary = "assigns each layer's offset in cache blocks";
  let description = [{
    Caches with equal window, positions and type are a group with its own block table,
    because blocks before a window become free. A block contains 256 positions for all
    layers in the group, in definition order.

    Pre-condition: cache types are final. Post-condition: each cache has a group and an
    offset; the module's `kern.cache_groups` lists window, type, layers and block size
    in bytes for each group, and the positions per sequence for a read-only group.

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
    Statistic<"caches", "caches", "caches planned">,
    Statistic<"groups", "groups", "cache groups">];
}

def FormPhasesPass : Pass<"kern-form-phases", "::mlir::ModuleOp"> {
  let summary = "groups operations into phases between barriers";
  let description = [{
    Each operation joins the first phase from which on it reads nothing that another
    worker writes and overwrites nothing that operations there need: they access
    different buffers, or each worker reads only rows that it wrote itself. Cache
    readers never share a phase with cache appends, and users of a bounded size never
    share one with its writer. A phase has at most 64 operations, so that code
    generation takes linear time in the operation count, and buffers in long chains
    share memory.

    An attention gets `head_ranges` if its only operands from the previous phase are
    queries, keys and values that GEMMs compute there as columns, and if two or more
    ranges of its heads are whole panels with 32 columns in each operand: the runtime
    omits the barrier between both phases in short calls.

    Pre-condition: fusions are done. Post-condition: every operation on buffers is in a
    phase, whose unique name is derived from its first GEMM or attention.

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
    Statistic<"phases", "phases", "phases formed">,
    Statistic<"joined", "joined", "operations that need no barrier before them">];
}

def PlanMemoryPass : Pass<"kern-plan-memory", "::mlir::ModuleOp"> {
  let summary = "assigns each buffer an arena offset, for all sizes";
  let description = [{
    Lifetimes are counted in phases. If some calls have no barrier between two phases,
    buffers used in one of them are live in both. A buffer that layers read or update is
    live in all of them. Offsets are polynomials in the entry's symbols that are valid
    for all values. A bounded size counts as its bound. Rows whose length is a multiple
    of 4096 bytes, or 512 in bf16, are padded first, because they map to the same cache
    sets.

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
    Statistic<"buffers", "buffers", "buffers planned">,
    Statistic<"padded", "padded", "buffers whose rows were padded">];
}

def ConvertKernToOnednnPass : Pass<"convert-kern-to-onednn", "::mlir::ModuleOp"> {
  let summary = "converts GEMMs, softmax and norms to oneDNN calls";
  let description = [{
    Each of them becomes a `kern.onednn`, which the runtime executes as one oneDNN call;
    a GEMM's bias, activation and residual are part of the call. Attention, embeddings,
    data movement and other operations remain generated code.

    Pre-condition: epilogues are fused, weights have no layout yet.
    Post-condition: each operation that oneDNN supports is converted, and its weights
    have the layout `rows`.

    Not converted:
    - a GEMM with several outs, key panels, a GLU or a fused norm;
    - an activation that oneDNN does not support;
    - an RMSNorm;
    - elements that are not f32;
    - more than 8 dimensions;
    - a batched matmul that writes its operands.

    Example:
    ```mlir
    kern.gemm %x, %w bias %b outs(%y) epilogue <gelu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, unset>, !kern.weight<[16] x f32, unset>, !kern.buffer<[rows, 16] x f32>
    // becomes
    kern.onednn <matmul> %x weights(%w, %b) outs(%y) activation <gelu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, rows>, !kern.weight<[16] x f32, rows>, !kern.buffer<[rows, 16] x f32>
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect"];
  let statistics = [
    Statistic<"products", "products", "GEMMs converted to oneDNN">,
    Statistic<"batchProducts", "batch-products", "batched matmuls converted to oneDNN">,
    Statistic<"softmaxes", "softmaxes", "softmaxes converted to oneDNN">,
    Statistic<"norms", "norms", "norms converted to oneDNN">];
}

#endif // TRANSOM_PASSES_KERNEL_PASSES_TD
