// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few operations that machines run: products with epilogues, attention,
// norms, elementwise regions and movements of rows, on planned buffers.
#ifndef TRANSOM_DIALECTS_KERN_KERNOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNOPS_TD

include "dialects/kern/KernDialect.td"
include "dialects/kern/KernInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Kern_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kern_Dialect, mnemonic, traits>;

/// Reads and writes buffers; operands named `outs` are written.
class Kern_BufferizedOp<string mnemonic, list<Trait> traits = []>
    : Kern_Op<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<Kern_BufferOp>])>;

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

def Kern_WeightOp : Kern_Op<"weight", [Symbol]> {
  let summary = "defines a packed weight";
  let description = [{
    `expr` is a weight expression over file tensors. `kern-pack-weights` sets the
    type's layout and `offset`, the byte offset in the artifact's weights.

    Example:
    `kern.weight @q : !kern.weight<[64, 64] x f32, panels32> = "file(\"q\")" {offset = 0 : i64}`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, StrAttr:$expr,
                       OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = "$sym_name `:` $type `=` $expr attr-dict";
}

def Kern_GetWeightOp : Kern_Op<"get_weight", [Pure]> {
  let summary = "the value of a weight";
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs Kern_WeightType:$result);
  let assemblyFormat = "$weight `:` type($result) attr-dict";
}

def Kern_AllocOp : Kern_Op<"alloc"> {
  let summary = "a buffer of the arena";
  let description = [{
    `slot` is its index in the entry's table of offsets, set by
    `kern-plan-memory`.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$slot);
  let results = (outs Kern_BufferType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Kern_ViewOp : Kern_Op<"view", [Pure]> {
  let summary = "the same memory with other dimensions";
  let arguments = (ins Kern_BufferType:$source);
  let results = (outs Kern_BufferType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def Kern_SegmentsOp : Kern_Op<"segments", [Pure]> {
  let summary = "the rows of a batch";
  let description = [{
    With `mask` (an entry's input) one row for each 1; else `batch` sequences of
    `columns` rows each. The runtime fills the table before the first step.
    `rows` and `keys` name the symbols for their numbers.
  }];
  let arguments = (ins Optional<Kern_BufferType>:$mask, StrAttr:$batch, StrAttr:$columns,
                       StrAttr:$rows, StrAttr:$keys, UnitAttr:$keep_first);
  let results = (outs Kern_SegmentsType:$result);
  let assemblyFormat = "(`mask` $mask^ `:` type($mask))? attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def Kern_GemmOp : Kern_BufferizedOp<"gemm", [AttrSizedOperandSegments]> {
  let summary = "product with a packed weight, with an epilogue";
  let description = [{
    `outs = activation(input [m, k] x weight [n, k]^T + bias) + residual`. With
    several `outs` consecutive column ranges of n go to one each (`parts` of the
    weight's type); an out may be `key_panels`, then row r goes to the key position of
    row r in `segments`. One chain of fused multiply-adds over k for each output,
    starting from the bias. With `norm_gamma` the LayerNorm of each row of `outs`
    goes to `norm_out`, made by the part that completes the row; `norm_counters` (one
    i64 a row, zero before and after) tell which part that is.
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_WeightType:$weight,
                       Optional<Kern_WeightType>:$bias, Optional<Kern_BufferType>:$residual,
                       Optional<Kern_SegmentsType>:$segments,
                       Optional<Kern_WeightType>:$norm_gamma, Optional<Kern_WeightType>:$norm_beta,
                       Optional<Kern_BufferType>:$norm_out, Optional<Kern_BufferType>:$norm_counters,
                       Variadic<Kern_BufferType>:$outs,
                       OptionalAttr<StrAttr>:$activation, OptionalAttr<F64Attr>:$norm_eps);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? (`residual` $residual^)? (`segments` $segments^)?
    (`norm` $norm_gamma^)? (`beta` $norm_beta^)? (`norm_out` $norm_out^)?
    (`counters` $norm_counters^)? `outs` `(` $outs `)` attr-dict `:` type(operands)
  }];
}

def Kern_BatchMatmulOp : Kern_BufferizedOp<"batch_matmul"> {
  let summary = "product of two activations";
  let description = [{
    `lhs [..., m, k] x rhs [..., k, n] -> outs [..., m, n]`; leading dimensions broadcast.
  }];
  let arguments = (ins Kern_BufferType:$lhs, Kern_BufferType:$rhs, Kern_BufferType:$outs);
  let assemblyFormat = "$lhs `,` $rhs `outs` `(` $outs `)` attr-dict `:` type(operands)";
}

def Kern_AttentionOp : Kern_BufferizedOp<"attention"> {
  let summary = "attention of several heads over segments";
  let description = [{
    `query [rows, heads*dk]`, `key` in key panels [positions, kv_heads*dk], `value
    [rows, kv_heads*dv]` -> `outs [rows, heads*dv]`. A row of `query_segments` attends to
    the keys of its sequence in `key_segments`, in pieces of 256 keys that merge
    in order; a row without a visible key gives zeros. `mask` is broadcastable
    to [batch, heads, q, k]: f32 is added to the scores, bool selects. `scratch`
    holds each part's scores.
  }];
  let arguments = (ins Kern_BufferType:$query, Kern_BufferType:$key, Kern_BufferType:$value,
                       Kern_SegmentsType:$query_segments, Kern_SegmentsType:$key_segments,
                       Optional<Kern_BufferType>:$mask, Kern_BufferType:$scratch,
                       Kern_BufferType:$outs,
                       I64Attr:$heads, I64Attr:$kv_heads, F64Attr:$scale, UnitAttr:$causal,
                       DefaultValuedAttr<I64Attr, "0">:$window,
                       DefaultValuedAttr<F64Attr, "0.0">:$soft_cap,
                       OptionalAttr<F64Attr>:$mask_value);
  let assemblyFormat = [{
    $query `,` $key `,` $value `segments` $query_segments `,` $key_segments
    (`mask` $mask^)? `scratch` $scratch `outs` `(` $outs `)` `heads` $heads `kv_heads` $kv_heads
    `scale` $scale attr-dict `:` type(operands)
  }];
}

def Kern_PackKeysOp : Kern_BufferizedOp<"pack_keys"> {
  let summary = "rows of keys into key panels";
  let arguments = (ins Kern_BufferType:$input, Kern_SegmentsType:$segments, Kern_BufferType:$outs);
  let assemblyFormat = "$input `segments` $segments `outs` `(` $outs `)` attr-dict `:` type(operands)";
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

def Kern_NormOp : Kern_BufferizedOp<"norm"> {
  let summary = "LayerNorm or RMSNorm of each row";
  let description = [{
    LayerNorm: (x - mean) / sqrt(variance + eps) * gamma + beta; with `rms` x /
    sqrt(mean(x^2) + eps) * gamma. Sums in 16 lanes by index and a fixed tree.
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_WeightType:$gamma, Optional<Kern_WeightType>:$beta,
                       Kern_BufferType:$outs, F64Attr:$eps, UnitAttr:$rms);
  let assemblyFormat = "$input `,` $gamma (`,` $beta^)? `outs` `(` $outs `)` `eps` $eps attr-dict `:` type(operands)";
}

def Kern_SoftmaxOp : Kern_BufferizedOp<"softmax"> {
  let summary = "softmax of each row; a row of minus infinity gives zeros";
  let arguments = (ins Kern_BufferType:$input, Kern_BufferType:$outs);
  let assemblyFormat = "$input `outs` `(` $outs `)` attr-dict `:` type(operands)";
}

def Kern_EmbeddingOp : Kern_BufferizedOp<"embedding", [SameVariadicOperandSize]> {
  let summary = "sum of rows of weights by index";
  let description = [{
    `outs[r] = sum over i of scale * tables[i][ids[i][r]]`, in the order of the
    tables. A table may be `rows` or `panels32` (a tied head's weight).
  }];
  let arguments = (ins Variadic<Kern_BufferType>:$ids, Variadic<Kern_WeightType>:$tables,
                       Kern_BufferType:$outs, DenseF64ArrayAttr:$scales);
  let assemblyFormat = "`ids` `(` $ids `)` `tables` `(` $tables `)` `outs` `(` $outs `)` attr-dict `:` `(` type($ids) `)` `,` `(` type($tables) `)` `,` type($outs)";
}

def Kern_ElementwiseOp : Kern_BufferizedOp<"elementwise", [NoTerminator, SingleBlock]> {
  let summary = "a region of scalar operations for each element";
  let description = [{
    Inputs broadcast to the dims of `outs` as in NumPy. The region has a
    scalar argument for each input and ends with `kern.yield`; it holds arith
    operations and `kern.apply`.
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, Kern_BufferType:$outs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`ins` `(` $inputs `)` `outs` `(` $outs `)` $body attr-dict `:` functional-type($inputs, $outs)";
}

def Kern_ApplyOp : Kern_Op<"apply", [Pure]> {
  let summary = "an activation of a scalar";
  let arguments = (ins StrAttr:$kind, F32:$input);
  let results = (outs F32:$result);
  let assemblyFormat = "$kind $input attr-dict";
}

def Kern_YieldOp : Kern_Op<"yield", [Pure, Terminator]> {
  let summary = "the value of an elementwise region";
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Kern_PositionsOp : Kern_BufferizedOp<"positions"> {
  let summary = "positions of tokens by `nonpad_rank`";
  let description = [{ `ids` i64 [batch, seq] -> i64 [batch, seq]; see `attn.position`. }];
  let arguments = (ins Kern_BufferType:$ids, Kern_BufferType:$outs, I64Attr:$pad);
  let assemblyFormat = "$ids `outs` `(` $outs `)` `pad` $pad attr-dict `:` type(operands)";
}

def Kern_ColumnsOp : Kern_BufferizedOp<"columns"> {
  let summary = "the column of each row in the caller's batch, as i64";
  let arguments = (ins Kern_SegmentsType:$segments, Kern_BufferType:$outs);
  let assemblyFormat = "$segments `outs` `(` $outs `)` attr-dict `:` type(operands)";
}

def Kern_GatherRowsOp : Kern_BufferizedOp<"gather_rows"> {
  let summary = "[batch, seq, ...] to the ragged [rows, ...]";
  let arguments = (ins Kern_BufferType:$input, Kern_SegmentsType:$segments, Kern_BufferType:$outs);
  let assemblyFormat = "$input `segments` $segments `outs` `(` $outs `)` attr-dict `:` type(operands)";
}

def Kern_ScatterRowsOp : Kern_BufferizedOp<"scatter_rows"> {
  let summary = "ragged [rows, ...] to [batch, seq, ...], zero elsewhere";
  let arguments = (ins Kern_BufferType:$input, Kern_SegmentsType:$segments, Kern_BufferType:$outs);
  let assemblyFormat = "$input `segments` $segments `outs` `(` $outs `)` attr-dict `:` type(operands)";
}

def Kern_PoolOp : Kern_BufferizedOp<"pool"> {
  let summary = "one row for each sequence: first, last or mean";
  let description = [{
    Of the keys of each sequence; with `mask` (bool, one for each row) of those
    where it is true. A sequence without a key gives zeros for `last` and `mean`.
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_SegmentsType:$segments,
                       Optional<Kern_BufferType>:$mask, Kern_BufferType:$outs, StrAttr:$kind);
  let assemblyFormat = "$kind $input `segments` $segments (`mask` $mask^)? `outs` `(` $outs `)` attr-dict `:` type(operands)";
}

//===----------------------------------------------------------------------===//
// Movements
//===----------------------------------------------------------------------===//

def Kern_TransposeOp : Kern_BufferizedOp<"transpose"> {
  let summary = "permutes dimensions: dimension i of outs is dimension permutation[i] of input";
  let arguments = (ins Kern_BufferType:$input, Kern_BufferType:$outs, DenseI64ArrayAttr:$permutation);
  let assemblyFormat = "$input `outs` `(` $outs `)` $permutation attr-dict `:` type(operands)";
}

def Kern_CopyOp : Kern_BufferizedOp<"copy"> {
  let summary = "a block along one axis";
  let description = [{
    `outs[.., to + i, ..] = input[.., from + i, ..]` for 0 <= i < size along `axis`; `to`,
    `from` and `size` are polynomials. Other dimensions are equal.
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_BufferType:$outs, I64Attr:$axis,
                       StrAttr:$from, StrAttr:$to, StrAttr:$size);
  let assemblyFormat = "$input `outs` `(` $outs `)` `axis` $axis `from` $from `to` $to `size` $size attr-dict `:` type(operands)";
}

def Kern_GatherOp : Kern_BufferizedOp<"gather"> {
  let summary = "rows of an activation [n, ...] by i64 index";
  let arguments = (ins Kern_BufferType:$table, Kern_BufferType:$indices, Kern_BufferType:$outs);
  let assemblyFormat = "$table `,` $indices `outs` `(` $outs `)` attr-dict `:` type(operands)";
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

def Kern_LayersOp : Kern_Op<"layers"> {
  let summary = "runs layer bodies one after another on one state buffer";
  let description = [{
    `rows` is a list of [body, weight, ...] symbols. A body takes the state, the
    invariants and its row's weights, and updates the state in place. A body has
    one call site.
  }];
  let arguments = (ins Kern_BufferType:$state, Variadic<AnyType>:$invariants, ArrayAttr:$rows);
  let assemblyFormat = "$state (`invariants` `(` $invariants^ `:` type($invariants) `)`)? $rows attr-dict `:` type($state)";
}

def Kern_PhaseOp : Kern_Op<"phase", [NoTerminator, SingleBlock]> {
  let summary = "operations that run without a barrier between them";
  let description = [{ All parts finish a phase before one begins the next. }];
  let arguments = (ins StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name $body attr-dict";
}

#endif // TRANSOM_DIALECTS_KERN_KERNOPS_TD
