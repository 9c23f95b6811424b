// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transformer operations, one for each model operation. Shapes use the names from
// the papers: batch, seq, heads, dk, dv.
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
    The data never enters the IR: `expr` is an expression over the tensors in the
    model's files, evaluated when the artifact is written. The type is static.

    Example:
    ```mlir
    attn.weight @q : [64, 64] f32 = #weight.expr<file("layer.0.q.weight")>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyStaticShapeTensor>:$type,
                       Weights_ExprAttr:$expr);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::Type":$type,
                                 "const ::transom::WeightExpr &":$expr)>];
  let assemblyFormat = "$sym_name `:` custom<SymbolType>($type) `=` qualified($expr) attr-dict";
}

def Attn_GetWeightOp : Attn_Op<"get_weight", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "returns a weight";
  let description = [{
    Constraints:
    1. The symbol is an `attn.weight`.
    2. The types are equal, up to the shape encoding.

    Example:
    ```mlir
    attn.weight @q : [64, 64] f32 = #weight.expr<file("q")>
    %w = attn.get_weight @q : [64, 64] f32
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$weight `:` custom<Types>(type($result)) attr-dict";
}

def Attn_CacheOp : Attn_Op<"cache", [Symbol]> {
  let summary = "declares the cache of one layer";
  let description = [{
    The keys and values that a layer's attention stores across calls. The contents
    are session state; the symbol is the layer's name. At most one attention per
    function uses a cache, so the order of appends does not matter: only the
    attention's own result depends on them. For a read-only cache, an `attn.append`
    in another function fills the cache.

    Example:
    ```mlir
    attn.cache @h.0.attn : !attn.cache<heads 4, key 64, value 64>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Attn_CacheType>:$type);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
}

def Attn_GetCacheOp : Attn_Op<"get_cache", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "returns a layer's cache";
  let description = [{
    Constraints:
    1. The symbol is an `attn.cache`.
    2. The types are equal.

    Example:
    ```mlir
    attn.cache @h.0.attn : !attn.cache<heads 4, key 64, value 64>
    %c = attn.get_cache @h.0.attn : !attn.cache<heads 4, key 64, value 64>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$cache);
  let results = (outs Attn_CacheType:$result);
  let assemblyFormat = "$cache `:` qualified(type($result)) attr-dict";
}

def Attn_ConstantOp : Attn_Op<"constant", [Pure,
    DeclareOpInterfaceMethods<InferTypeOpInterface, ["refineReturnTypes"]>]> {
  let summary = "a small constant tensor";
  let description = [{
    Constraints:
    1. The result has the value's shape and element type.

    Example:
    ```mlir
    %c = attn.constant dense<1.0> : tensor<1xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Matrix multiplication
//===----------------------------------------------------------------------===//

def Attn_MatmulOp : Attn_ShapedOp<"matmul",
    [DeclareOpInterfaceMethods<Attn_RowwiseOpInterface, ["mixesRows"]>]> {
  let summary = "matmul with two activations";
  let description = [{
    `lhs [..., m, k] x rhs [..., k, n] -> [..., m, n]`. The flags transpose the last
    two dimensions of an operand; leading dimensions broadcast as in NumPy.

    Constraints:
    1. Both have at least rank 2.
    2. One float element type.
    3. One inner size k.
    4. The leading dimensions broadcast.

    Example:
    ```mlir
    %s = attn.matmul %q, %k {transpose_rhs} : [2, 4, 8] f32, [2, 6, 8] f32
    ```
  }];
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` custom<Types>(type($lhs), type($rhs))";
}

def Attn_LinearOp : Attn_ShapedOp<"linear", [Attn_TokenwiseOpInterface, AttrSizedOperandSegments]> {
  let summary = "matmul with a weight, plus a bias";
  let description = [{
    `input [..., k] x weight [n, k]^T + bias [n] -> [..., n]`.
    `weight` is usually a weight (or a layer body parameter), but may be an activation
    that the graph computes.
    With `columns [c]`, which requires a weight, only the selected columns are computed
    and the result is `[..., c]`: its column i is bit-identical to column `columns[i]`
    of the full result.

    Constraints:
    1. The weight is static with rank 2.
    2. The input's last size is the weight's second.
    3. The bias is [n].
    4. One float element type.
    5. The columns are i64 with rank 1.

    Example:
    ```mlir
    %y = attn.linear %x, %w, %b : [2, 8] f32, [4, 8] f32, [4] f32
    %z = attn.linear %x, %w, %b columns(%i : [3] i64) : [2, 8] f32, [4, 8] f32, [4] f32
    ```
  }];
  let arguments = (ins AnyTensor:$input, AnyTensor:$weight, Optional<AnyTensor>:$bias,
                       Optional<AnyTensor>:$columns);
  let results = (outs AnyTensor:$result);
  let builders = [
    /// Computes all columns.
    OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$input, "::mlir::Value":$weight,
                   "::mlir::Value":$bias), [{
      build($_builder, $_state, type, input, weight, bias, ::mlir::Value());
    }]>
  ];
  let extraClassDeclaration = [{
    int64_t getMinRowRank() { return 1; }
  }];
  let assemblyFormat = [{
    $input `,` $weight (`,` $bias^)? (`columns` `(` $columns^ `:` custom<Types>(type($columns)) `)`)?
    attr-dict `:` custom<OptionalTypes>(type($input), type($weight), type($bias))
  }];
}

include "dialects/attn/AttnElementwiseOps.td"

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

def Attn_TransposeOp : Attn_ShapedOp<"transpose",
    [DeclareOpInterfaceMethods<Attn_RowwiseOpInterface>]> {
  let summary = "permutes dimensions: result dimension i is input dimension permutation[i]";
  let description = [{
    Constraints:
    1. The permutation contains each input dimension once.

    Example:
    ```mlir
    %y = attn.transpose %x [0, 2, 1] : [2, 3, 4] f32
    ```
  }];
  let arguments = (ins AnyTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` custom<Types>(type($input))";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Attn_ReshapeOp : Attn_ShapedOp<"reshape",
    [DeclareOpInterfaceMethods<Attn_RowwiseOpInterface>]> {
  let summary = "changes the dimensions; elements stay in row-major order";
  let description = [{
    Constraints:
    1. Both shapes have equal products as polynomials.

    Example:
    ```mlir
    %y = attn.reshape %x to <[2, 8, 4, 16]> : [2, 8, 64] f32
    ```
  }];
  let arguments = (ins AnyTensor:$input, Attn_ShapeAttr:$shape);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input `to` $shape attr-dict `:` custom<Types>(type($input))";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Attn_ConcatOp : Attn_ShapedOp<"concat",
    [DeclareOpInterfaceMethods<Attn_RowwiseOpInterface>]> {
  let summary = "concatenates tensors along an axis";
  let description = [{
    Constraints:
    1. At least one input.
    2. The axis is a dimension.
    3. One element type and rank.
    4. The other dimensions are equal.

    Example:
    ```mlir
    %y = attn.concat %a, %b axis 1 : [2, 3] f32, [2, 4] f32
    ```
  }];
  let arguments = (ins Variadic<AnyTensor>:$inputs, I64Attr:$axis);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` custom<VariadicTypes>(type($inputs))";
}

def Attn_SliceOp : Attn_ShapedOp<"slice",
    [DeclareOpInterfaceMethods<Attn_RowwiseOpInterface>]> {
  let summary = "extracts a range along an axis";
  let description = [{
    Selects `start <= i < start + size` along `axis`; `size` is a polynomial.

    Constraints:
    1. The axis is a dimension.
    2. The range starts at 0 or later and, if this is known, ends within the
       dimension.

    Example:
    ```mlir
    %y = attn.slice %x axis 1 from 0 size 1 : [2, 8] f32
    ```
  }];
  let arguments = (ins AnyTensor:$input, I64Attr:$axis, I64Attr:$start, Attn_SizeAttr:$size);
  let results = (outs AnyTensor:$result);
  let hasCanonicalizer = 1;
  let assemblyFormat = [{
    $input `axis` $axis `from` $start `size` custom<Size>($size) attr-dict `:`
    custom<Types>(type($input))
  }];
}

def Attn_GatherOp : Attn_ShapedOp<"gather",
    [DeclareOpInterfaceMethods<Attn_RowwiseOpInterface, ["mixesRows"]>]> {
  let summary = "selects rows along the first axis by index";
  let description = [{
    `table [n, ...]`, `indices` i64 with any shape -> `[indices..., ...]`. Indices
    that are an input with a bound are checked before a run. `embedding` is the same
    operation with a weight.

    Constraints:
    1. The table has a first axis.
    2. The indices are i64.

    Example:
    ```mlir
    %y = attn.gather %t, %i : [9, 4] f32, [2, 3] i64
    ```
  }];
  let arguments = (ins AnyTensor:$table, AnyTensor:$indices);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $table `,` $indices attr-dict `:` custom<Types>(type($table), type($indices))
  }];
}

def Attn_EmbeddingOp : Attn_TokenwiseOp<"embedding", 0> {
  let summary = "selects weight rows by index";
  let description = [{
    `ids` i64 [...], `table` a weight [n, d] -> [..., d], times `scale`.

    Constraints:
    1. The table is static and float with rank 2.
    2. The ids are i64.

    Example:
    ```mlir
    %y = attn.embedding %ids, %w : [2, 3] i64, [9, 4] f32
    ```
  }];
  let arguments = (ins AnyTensor:$ids, AnyTensor:$table,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$ids `,` $table attr-dict `:` custom<Types>(type($ids), type($table))";
}

def Attn_PositionOp : Attn_TokenwiseOp<"position", 0> {
  let summary = "computes each token's position";
  let description = [{
    `ids [batch, seq]` -> i64 `[batch, seq]`. `column`: the column. `nonpad_rank`
    (RoBERTa): `pad` where the id is `pad`, else `pad` + the rank, from 1, among the
    ids in its sequence that are not `pad`. Ragged ids (with `ragged`) support only
    `column`: the token's column in the caller's batch. For `attn.decode_batch` that
    is the token's position: past plus index among the new tokens in its sequence.

    Constraints:
    1. The ids are i64.
    2. [rows] with a ragged batch, else [batch, seq].
    3. `nonpad_rank` takes no ragged batch.

    Example:
    ```mlir
    %p = attn.position <column> %ids : [2, 3] i64
    ```
  }];
  let arguments = (ins AnyTensor:$ids, Optional<Attn_RaggedType>:$ragged,
                       Attn_PositionKindAttr:$kind, DefaultValuedAttr<I64Attr, "0">:$pad);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $kind $ids (`ragged` `(` $ragged^ `:` custom<Types>(type($ragged)) `)`)? attr-dict `:`
    custom<Types>(type($ids))
  }];
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

def Attn_RopeTableOp : Attn_TokenwiseOp<"rope_table", 0> {
  let summary = "computes cosines and sines for rotary position embeddings";
  let description = [{
    `positions` i64 [...] -> [..., 2n] for n frequencies f (Su et al. 2021, 3.2).
    For position p the result contains n cosines `factor * cos(p * f)`, then n sines
    `factor * sin(p * f)`. `factor` is the attention factor for scaled rope (yarn).
    All positions are below `limit`, which determines the table size.

    Constraints:
    1. The positions are i64 with at least rank 1.
    2. There is at least one frequency, all are finite.
    3. The factor is finite.
    4. The limit is between 1 and 2^31 - 1.

    Example:
    ```mlir
    %r = attn.rope_table %p {frequencies = array<f64: 1.0, 0.01>, limit = 2048 : i64} : [5] i64
    ```
  }];
  let arguments = (ins AnyTensor:$positions, DenseF64ArrayAttr:$frequencies,
                       DefaultValuedAttr<F64Attr, "1.0">:$factor, I64Attr:$limit);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$positions attr-dict `:` custom<Types>(type($positions))";
}

def Attn_RopeOp : Attn_TokenwiseOp<"rope", 1> {
  let summary = "applies rotary position embeddings to each head";
  let description = [{
    `input [..., heads*d]`, `rope_table [..., 2n]` from `attn.rope_table` for the
    same tokens. In each head the first 2n elements are n pairs (a, b): elements i
    and i + n, or with `interleaved` 2i and 2i + 1. They become (a c - b s, b c + a s)
    with the cosine c in column i and the sine s in column n + i; the other elements
    are copied.

    Constraints:
    1. Input and rope table have one float type and equal leading sizes.
    2. Heads is positive and divides the input's width.
    3. The table's width 2n is even, and at most the head width.

    Example:
    ```mlir
    %y = attn.rope %x, %r heads 2 : [5, 16] f32, [5, 4] f32
    ```
  }];
  let arguments = (ins AnyTensor:$input, AnyTensor:$rope_table, I64Attr:$heads,
                       UnitAttr:$interleaved);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $input `,` $rope_table `heads` $heads attr-dict `:` custom<Types>(type($input),
    type($rope_table))
  }];
}

//===----------------------------------------------------------------------===//
// Norms and softmax
//===----------------------------------------------------------------------===//

def Attn_SoftmaxOp : Attn_TokenwiseOp<"softmax", 1> {
  let summary = "softmax over the last dimension";
  let description = [{
    A row with only minus infinities returns zeros.

    Constraints:
    1. The input is float and has a last dimension.

    Example:
    ```mlir
    %p = attn.softmax %s : [2, 4] f32
    ```
  }];
  let arguments = (ins AnyTensor:$input);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` custom<Types>(type($input))";
}

def Attn_RowSummaryOp : Attn_TokenwiseOp<"row_summary", 1> {
  let summary = "maximum and sum of exponentials for each 64 elements in a row";
  let description = [{
    `input [..., n]` -> `maxima` and `sums [..., ceil(n / 64)]`: for each group of 64
    consecutive elements (the last may have fewer) the maximum m and the sum of
    exp(x - m). They determine a row's maximum, the logarithm of its sum of
    exponentials, and the groups that contain its largest elements, without reading
    all elements again. For a group with a NaN or an infinity the maximum is NaN and
    the sum is undefined.

    Constraints:
    1. The input is float and its last dimension is a constant, at least 1.

    Example:
    ```mlir
    %maxima, %sums = attn.row_summary %logits : [rows, 1000] f32
    ```
  }];
  let arguments = (ins AnyTensor:$input);
  let results = (outs AnyTensor:$maxima, AnyTensor:$sums);
  let assemblyFormat = "$input attr-dict `:` custom<Types>(type($input))";
}

def Attn_LayerNormOp : Attn_TokenwiseOp<"layer_norm", 1> {
  let summary = "(x - mean) / sqrt(variance + eps) * gamma + beta over the last dimension";
  let description = [{
    The variance is the mean squared difference (divided by d, not d - 1).

    Constraints:
    1. One float element type.
    2. Gamma and beta are [d], where d is the input's last size.

    Example:
    ```mlir
    %y = attn.layer_norm %x, %g, %b eps 1.0e-12 : [2, 8] f32, [8] f32, [8] f32
    ```
  }];
  let arguments = (ins AnyTensor:$input, AnyTensor:$gamma, Optional<AnyTensor>:$beta, F64Attr:$eps);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $input `,` $gamma (`,` $beta^)? `eps` $eps attr-dict `:` custom<OptionalTypes>(type($input),
    type($gamma), type($beta))
  }];
}

def Attn_RmsNormOp : Attn_TokenwiseOp<"rms_norm", 1> {
  let summary = "x / sqrt(mean(x^2) + eps) * gamma over the last dimension";
  let description = [{
    Constraints:
    1. One float element type.
    2. Gamma is [d], where d is the input's last size.

    Example:
    ```mlir
    %y = attn.rms_norm %x, %g eps 1.0e-6 : [2, 8] f32, [8] f32
    ```
  }];
  let arguments = (ins AnyTensor:$input, AnyTensor:$gamma, F64Attr:$eps);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $input `,` $gamma `eps` $eps attr-dict `:` custom<Types>(type($input), type($gamma))
  }];
}

#endif // TRANSOM_DIALECTS_ATTN_ATTNOPS_TD
