// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of a Transformer, one for each operation of a model. Shapes
// are written with the names of the papers: batch, seq, heads, dk, dv.
#ifndef TRANSOM_DIALECTS_ATTN_ATTNOPS_TD
#define TRANSOM_DIALECTS_ATTN_ATTNOPS_TD

include "dialects/attn/AttnBase.td"
include "dialects/attn/AttnSequenceOps.td"

//===----------------------------------------------------------------------===//
// Weights and constants
//===----------------------------------------------------------------------===//

def Attn_WeightOp : Attn_Op<"weight", [Symbol]> {
  let summary = "defines a weight by an expression over file tensors";
  let description = [{
    The data never enters the IR: `expr` is the text of a weight expression
    (`file("a.weight")`, `concat(0, file("q"), file("k"))`, ...), evaluated when
    the artifact is written.

    Rules: (1) the type is static; (2) the expression parses.

    Example:
    ```mlir
    attn.weight @q : tensor<64x64xf32> = "file(\"layer.0.q.weight\")"
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyStaticShapeTensor>:$type,
                       StrAttr:$expr);
  let assemblyFormat = "$sym_name `:` $type `=` $expr attr-dict";
  let hasVerifier = 1;
}

def Attn_GetWeightOp : Attn_Op<"get_weight", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a weight";
  let description = [{
    Rules: (1) the symbol is an `attn.weight`; (2) the types are equal, up to the
    shape encoding.

    Example: `%w = attn.get_weight @q : tensor<64x64xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$weight `:` type($result) attr-dict";
}

def Attn_CacheOp : Attn_Op<"cache", [Symbol]> {
  let summary = "declares the cache of one layer";
  let description = [{
    The keys and values that the layer's attention keeps from call to call. What
    is in them is state of the run; the symbol has the layer's name. One attention
    uses a cache, so that what it appends is no side effect to order: nothing but
    its own result depends on it.

    Example: `attn.cache @h.0.attn : !attn.cache<heads 4, key 64, value 64>`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Attn_CacheType>:$type);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
}

def Attn_GetCacheOp : Attn_Op<"get_cache", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the cache of a layer as an operand";
  let description = [{
    Rules: (1) the symbol is an `attn.cache`; (2) the types are equal.

    Example: `%c = attn.get_cache @h.0.attn : !attn.cache<heads 4, key 64, value 64>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$cache);
  let results = (outs Attn_CacheType:$result);
  let assemblyFormat = "$cache `:` qualified(type($result)) attr-dict";
}

def Attn_ConstantOp : Attn_Op<"constant", [Pure]> {
  let summary = "a small constant tensor";
  let description = [{
    Rule: (1) the result has the shape and element type of the value.

    Example: `%c = attn.constant dense<1.0> : tensor<1xf32> -> tensor<1xf32>`
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$value attr-dict `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def Attn_MatmulOp : Attn_ShapedOp<"matmul"> {
  let summary = "product of two activations";
  let description = [{
    `lhs [..., m, k] x rhs [..., k, n] -> [..., m, n]`, with the last two
    dimensions of an operand exchanged where its flag says so; leading
    dimensions broadcast as in NumPy.

    Rules: (1) both have a rank of at least 2; (2) one float element type;
    (3) one inner size k; (4) the leading dimensions broadcast.

    Example: `%s = attn.matmul %q, %k {transpose_rhs} : (tensor<2x4x8xf32>,
    tensor<2x6x8xf32>) -> tensor<2x4x6xf32>`
  }];
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def Attn_LinearOp : Attn_ShapedOp<"linear"> {
  let summary = "product with a weight, plus a bias";
  let description = [{
    `input [..., k] x weight [n, k]^T + bias [n] -> [..., n]`.
    `weight` is a weight (or a row's weight in a layer body), never an
    activation.

    Rules: (1) the weight is static and of rank 2; (2) the input's last size is
    the weight's second; (3) the bias is [n]; (4) one float element type.

    Example: `%y = attn.linear %x, %w, %b : (tensor<2x8xf32>, tensor<4x8xf32>,
    tensor<4xf32>) -> tensor<2x4xf32>`
  }];
  let arguments = (ins AnyTensor:$input, AnyTensor:$weight, Optional<AnyTensor>:$bias);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input `,` $weight (`,` $bias^)? attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

class Attn_BinaryOp<string mnemonic, string text, string type = "f32"> : Attn_ShapedOp<mnemonic> {
  let summary = text # ", broadcast as in NumPy";
  let description = [{
    Rules: (1) one element type, bool for `and` and `or`, float or i64 for the
    others; (2) the shapes broadcast.

    Example: `%y = attn.}] # mnemonic # " %a, %b : (tensor<2x4x" # type # ">, tensor<4x" # type # ">) -> tensor<2x4x" # type # [{>`
  }];
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}
def Attn_AddOp : Attn_BinaryOp<"add", "sum">;
def Attn_SubOp : Attn_BinaryOp<"sub", "difference">;
def Attn_MulOp : Attn_BinaryOp<"mul", "product">;
def Attn_DivOp : Attn_BinaryOp<"div", "quotient">;
def Attn_AndOp : Attn_BinaryOp<"and", "logical and of bool tensors", "i1">;
def Attn_OrOp : Attn_BinaryOp<"or", "logical or of bool tensors", "i1">;

def Attn_NotOp : Attn_ShapedOp<"not"> {
  let summary = "logical negation of a bool tensor";
  let description = [{
    Rule: (1) the element type is bool.

    Example: `%n = attn.not %m : (tensor<4xi1>) -> tensor<4xi1>`
  }];
  let arguments = (ins AnyTensor:$input);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Attn_CastOp : Attn_ShapedOp<"cast"> {
  let summary = "converts to another element type; bool is value != 0";
  let description = [{
    A float becomes an integer towards zero; true becomes 1.

    Rule: (1) `to` is a float, integer or bool type.

    Example: `%m = attn.cast %x to i1 : (tensor<4xi64>) -> tensor<4xi1>`
  }];
  let arguments = (ins AnyTensor:$input, TypeAttr:$to);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input `to` $to attr-dict `:` functional-type(operands, results)";
}

def Attn_ScaleOp : Attn_ShapedOp<"scale"> {
  let summary = "times a constant, plus a constant";
  let description = [{
    `factor * input + offset` for each element.

    Rule: (1) the element type is a float.

    Example: `%y = attn.scale %x by 0.125 : (tensor<4xf32>) -> tensor<4xf32>`
  }];
  let arguments = (ins AnyTensor:$input, F64Attr:$factor,
                       DefaultValuedAttr<F64Attr, "0.0">:$offset);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input `by` $factor attr-dict `:` functional-type(operands, results)";
}

def Attn_ActivationOp : Attn_ShapedOp<"activation"> {
  let summary = "a function of each element";
  let description = [{
    `gelu` is x/2 (1 + erf(x / sqrt 2)); `gelu_tanh` is x/2 (1 + tanh(sqrt(2/pi)
    (x + 0.044715 x^3))); `quick_gelu` is x sigmoid(1.702 x); `silu` is
    x sigmoid(x).

    Rule: (1) the element type is a float.

    Example: `%y = attn.activation <gelu> %x : (tensor<4xf32>) -> tensor<4xf32>`
  }];
  let arguments = (ins AnyTensor:$input, Attn_ActivationAttr:$kind);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` functional-type(operands, results)";
}

def Attn_WhereOp : Attn_ShapedOp<"where"> {
  let summary = "chooses by a bool tensor, broadcast as in NumPy";
  let description = [{
    Rules: (1) the condition is bool; (2) both values have one element type;
    (3) the three shapes broadcast.

    Example: `%y = attn.where %c, %a, %b : (tensor<4xi1>, tensor<4xf32>,
    tensor<1xf32>) -> tensor<4xf32>`
  }];
  let arguments = (ins AnyTensor:$condition, AnyTensor:$on_true, AnyTensor:$on_false);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` functional-type(operands, results)";
}

def Attn_MaskOp : Attn_ShapedOp<"mask"> {
  let summary = "scores where a bool mask is true, else minus infinity";
  let description = [{
    `scores [..., q, k]`, `mask` bool broadcastable to it, true = attend.
    `value` replaces masked scores: minus infinity, or a finite number that a
    model uses for it (then it is data).

    Rules: (1) the scores are float, the mask bool; (2) the mask broadcasts to
    the scores' shape.

    Example: `%y = attn.mask %s, %m with -1.0e9 : (tensor<2x4x4xf32>,
    tensor<4x4xi1>) -> tensor<2x4x4xf32>`
  }];
  let arguments = (ins AnyTensor:$scores, AnyTensor:$mask, F64Attr:$value);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$scores `,` $mask `with` $value attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

def Attn_TransposeOp : Attn_ShapedOp<"transpose"> {
  let summary = "permutes dimensions: result dimension i is input dimension permutation[i]";
  let description = [{
    Rule: (1) the permutation holds each dimension of the input once.

    Example: `%y = attn.transpose %x [0, 2, 1] : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>`
  }];
  let arguments = (ins AnyTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Attn_ReshapeOp : Attn_ShapedOp<"reshape"> {
  let summary = "same elements in row-major order, other dimensions";
  let description = [{
    Rule: (1) the products of both shapes are equal polynomials.

    Example: `%y = attn.reshape %x to <[2, 8, 4, 16]> : (tensor<2x8x64xf32>) ->
    tensor<2x8x4x16xf32>`
  }];
  let arguments = (ins AnyTensor:$input, Attn_ShapeAttr:$shape);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input `to` $shape attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Attn_ConcatOp : Attn_ShapedOp<"concat"> {
  let summary = "joins tensors along an axis";
  let description = [{
    Rules: (1) at least one input; (2) the axis is a dimension; (3) one element
    type and rank; (4) the other dimensions are equal.

    Example: `%y = attn.concat %a, %b axis 1 : (tensor<2x3xf32>, tensor<2x4xf32>)
    -> tensor<2x7xf32>`
  }];
  let arguments = (ins Variadic<AnyTensor>:$inputs, I64Attr:$axis);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` functional-type(operands, results)";
}

def Attn_SliceOp : Attn_ShapedOp<"slice"> {
  let summary = "a range along an axis";
  let description = [{
    Elements `start <= i < start + size` of `axis`; `size` is the text of a
    polynomial.

    Rules: (1) the axis is a dimension; (2) the size is a polynomial; (3) the
    range does not start before 0 or, where this is known, end behind the
    dimension.

    Example: `%y = attn.slice %x axis 1 from 0 size "1" : (tensor<2x8xf32>) ->
    tensor<2x1xf32>`
  }];
  let arguments = (ins AnyTensor:$input, I64Attr:$axis, I64Attr:$start, StrAttr:$size);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input `axis` $axis `from` $start `size` $size attr-dict `:` functional-type(operands, results)";
}

def Attn_GatherOp : Attn_ShapedOp<"gather"> {
  let summary = "rows of the first axis by index";
  let description = [{
    `table [n, ...]`, `indices` i64 of any shape -> `[indices..., ...]`. The
    indices are checked before a run where they are an input with a bound.
    `embedding` is the same with a weight.

    Rules: (1) the table has a first axis; (2) the indices are i64.

    Example: `%y = attn.gather %t, %i : (tensor<9x4xf32>, tensor<2x3xi64>) ->
    tensor<2x3x4xf32>`
  }];
  let arguments = (ins AnyTensor:$table, AnyTensor:$indices);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$table `,` $indices attr-dict `:` functional-type(operands, results)";
}

def Attn_EmbeddingOp : Attn_ShapedOp<"embedding"> {
  let summary = "rows of a weight by index";
  let description = [{
    `ids` i64 [...], `table` a weight [n, d] -> [..., d], times `scale`.

    Rules: (1) the table is static, float and of rank 2; (2) the ids are i64.

    Example: `%y = attn.embedding %ids, %w : (tensor<2x3xi64>, tensor<9x4xf32>)
    -> tensor<2x3x4xf32>`
  }];
  let arguments = (ins AnyTensor:$ids, AnyTensor:$table,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$ids `,` $table attr-dict `:` functional-type(operands, results)";
}

def Attn_PositionOp : Attn_ShapedOp<"position"> {
  let summary = "the position of each token";
  let description = [{
    `ids [batch, seq]` -> i64 `[batch, seq]`. `column`: the column. `nonpad_rank`
    (RoBERTa): `pad` where the id is `pad`, else `pad` + the rank, from 1, among
    the ids of its sequence that are not `pad`. On ragged ids (with
    `ragged`) only `column` is defined: the row's column in the caller's batch,
    which for `attn.decode_batch` is its position: past plus index among the new
    rows of its sequence.

    Rules: (1) the ids are i64; (2) [rows] with ragged, else [batch, seq];
    (3) `nonpad_rank` takes no ragged.

    Example: `%p = attn.position <column> %ids : (tensor<2x3xi64>) -> tensor<2x3xi64>`
  }];
  let arguments = (ins AnyTensor:$ids, Optional<Attn_RaggedType>:$ragged,
                       Attn_PositionKindAttr:$kind, DefaultValuedAttr<I64Attr, "0">:$pad);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$kind $ids (`ragged` $ragged^)? attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Rotary positions
//===----------------------------------------------------------------------===//

def Attn_RopeTableOp : Attn_ShapedOp<"rope_table"> {
  let summary = "cosines and sines of positions times frequencies";
  let description = [{
    `positions` i64 [...] -> [..., 2n] for n frequencies f (Su et al. 2021, 3.2):
    for position p the n numbers `factor * cos(p * f)`, then the n numbers
    `factor * sin(p * f)`. `factor` is the attention factor of scaled rotary
    positions (yarn). All positions are below `limit`, by which tables are made.

    Rules: (1) the positions are i64 with a rank of at least 1; (2) there is at
    least one frequency, all are finite; (3) the factor is finite; (4) the limit is
    between 1 and 2^31 - 1.

    Example: `%r = attn.rope_table %p {frequencies = array<f64: 1.0, 0.01>, limit =
    2048 : i64} : (tensor<5xi64>) -> tensor<5x4xf32>`
  }];
  let arguments = (ins AnyTensor:$positions, DenseF64ArrayAttr:$frequencies,
                       DefaultValuedAttr<F64Attr, "1.0">:$factor, I64Attr:$limit);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$positions attr-dict `:` functional-type(operands, results)";
}

def Attn_RopeOp : Attn_ShapedOp<"rope"> {
  let summary = "turns pairs of numbers of each head by a rotation";
  let description = [{
    `input [..., heads*d]`, `rotation [..., 2n]` of `attn.rope_table` for the same
    rows. Of each head the first 2n numbers are n pairs (a, b): numbers i and i + n,
    or with `interleaved` 2i and 2i + 1. They become (a c - b s, b c + a s) with c
    and s of column i and n + i; the other numbers pass.

    Rules: (1) input and rotation are of one float type with equal leading sizes;
    (2) heads is positive and divides the input's width; (3) the rotation's width
    2n is even, and at most the width of a head.

    Example: `%y = attn.rope %x, %r heads 2 : (tensor<5x16xf32>, tensor<5x4xf32>)
    -> tensor<5x16xf32>`
  }];
  let arguments = (ins AnyTensor:$input, AnyTensor:$rope_table, I64Attr:$heads,
                       UnitAttr:$interleaved);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input `,` $rope_table `heads` $heads attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Norms, softmax, pooling
//===----------------------------------------------------------------------===//

def Attn_SoftmaxOp : Attn_ShapedOp<"softmax"> {
  let summary = "softmax over the last dimension";
  let description = [{
    A row that is minus infinity throughout gives zeros.

    Rule: (1) the input is float and has a last dimension.

    Example: `%p = attn.softmax %s : (tensor<2x4xf32>) -> tensor<2x4xf32>`
  }];
  let arguments = (ins AnyTensor:$input);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Attn_LayerNormOp : Attn_ShapedOp<"layer_norm"> {
  let summary = "(x - mean) / sqrt(variance + eps) * gamma + beta over the last dimension";
  let description = [{
    The variance is the mean of squared differences (divided by d, not d - 1).

    Rules: (1) one float element type; (2) gamma and beta are [d], where d is the
    input's last size.

    Example: `%y = attn.layer_norm %x, %g, %b eps 1.0e-12 : (tensor<2x8xf32>,
    tensor<8xf32>, tensor<8xf32>) -> tensor<2x8xf32>`
  }];
  let arguments = (ins AnyTensor:$input, AnyTensor:$gamma, Optional<AnyTensor>:$beta, F64Attr:$eps);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input `,` $gamma (`,` $beta^)? `eps` $eps attr-dict `:` functional-type(operands, results)";
}

def Attn_RmsNormOp : Attn_ShapedOp<"rms_norm"> {
  let summary = "x / sqrt(mean(x^2) + eps) * gamma over the last dimension";
  let description = [{
    Rules: (1) one float element type; (2) gamma is [d], where d is the input's
    last size.

    Example: `%y = attn.rms_norm %x, %g eps 1.0e-6 : (tensor<2x8xf32>,
    tensor<8xf32>) -> tensor<2x8xf32>`
  }];
  let arguments = (ins AnyTensor:$input, AnyTensor:$gamma, F64Attr:$eps);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input `,` $gamma `eps` $eps attr-dict `:` functional-type(operands, results)";
}

def Attn_PoolOp : Attn_ShapedOp<"pool", [AttrSizedOperandSegments]> {
  let summary = "one row for each sequence";
  let description = [{
    `input [batch, seq, d]`, or ragged `[rows, d]` with `ragged` -> `[batch, d]`.
    `first` takes column 0, `last` the last key, `mean` the mean of the keys.
    `mask` (bool [batch, seq]) says what the keys are where there are no ragged;
    without it all rows are keys. A sequence without a key gives zeros for `last`
    and `mean`. With ragged `batch` is the text of the result's leading size.

    Rules: (1) ragged: input [rows, d], `batch` is given, no mask; (2) else:
    input [batch, seq, d] and mask bool [batch, seq].

    Example: `%p = attn.pool <mean> %x mask %m : (tensor<2x8x64xf32>,
    tensor<2x8xi1>) -> tensor<2x64xf32>`
  }];
  let arguments = (ins AnyTensor:$input, Optional<AnyTensor>:$mask,
                       Optional<Attn_RaggedType>:$ragged, Attn_PoolKindAttr:$kind,
                       OptionalAttr<StrAttr>:$batch);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$kind $input (`mask` $mask^)? (`ragged` $ragged^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 0;
}

#endif // TRANSOM_DIALECTS_ATTN_ATTNOPS_TD
