// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row operations: norms, casts, softmax, embeddings, elementwise regions.
#ifndef TRANSOM_DIALECTS_KERN_KERNROWOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNROWOPS_TD

include "dialects/kern/KernBase.td"

def Kern_NormOp : Kern_BufferizedOp<"norm", [AttrSizedOperandSegments],
    ["acceptsStride", "canRoundOutput", "roundOutput"]> {
  let summary = "LayerNorm or RMSNorm for each row";
  let description = [{
    LayerNorm: (x - mean) / sqrt(variance + eps) * gamma + beta; with `rms` x /
    sqrt(mean(x^2) + eps) * gamma. Sums run in 16 lanes by index, reduced by a fixed
    tree. bf16 or i8 `outs` are rounded; `copy` is a rounded copy of f32 `outs`.
    Quantized values have `scales`, both equal to `kern.quantize` on the norm.

    Constraints:
    1. The input is f32 in rows, outs f32, bf16 or i8 in rows.
    2. Input and outs have equal sizes.
    3. The last size is a constant.
    4. Gamma and beta are f32 vectors with that size in `rows` or `unset`.
    5. `eps` is not negative.
    6. `copy` is bf16 or i8 in rows with the sizes of outs, which is f32 then.
    7. `scales` are given exactly if outs or `copy` are i8: f32 in rows with the
       leading sizes of outs and two columns for each group of 32 to 1024 columns; the
       last size is then a multiple of 4.

    Example:
    ```mlir
    kern.norm %x, %g, %h outs(%y) eps 1.0e-12 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>,
        !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_WeightType:$gamma, Optional<Kern_WeightType>:$beta,
                       Kern_BufferType:$outs, Optional<Kern_BufferType>:$copy,
                       Optional<Kern_BufferType>:$scales, F64Attr:$eps, UnitAttr:$rms);
  let assemblyFormat = "$input `,` $gamma (`,` $beta^)? `outs` `(` $outs `)` (`copy` `(` $copy^ `)`)? (`scales` `(` $scales^ `)`)? `eps` $eps attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_CastOp : Kern_BufferizedOp<"cast", [], ["acceptsStride"]> {
  let summary = "rounds f32 rows to bf16";
  let description = [{
    Rounds to nearest, ties to even; NaN stays NaN. `kern-choose-precision` inserts it
    if no operation that writes the input can round it itself.

    Constraints:
    1. The input is f32 in rows, outs bf16 in rows.
    2. Input and outs have equal sizes.

    Example:
    ```mlir
    kern.cast %x outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x bf16>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_BufferType:$outs);
  let assemblyFormat = "$input `outs` `(` $outs `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_QuantizeOp : Kern_BufferizedOp<"quantize", [], ["acceptsStride"]> {
  let summary = "quantizes f32 rows to integers with scales";
  let description = [{
    Each group of `group` elements in a row has a scale, its largest magnitude / 127.
    The quantized values are x * (127 / largest), rounded to nearest, ties to even.
    For each group `scales` contains the scale and the sum of its quantized values,
    which GEMMs use to subtract the bias in stored weights, such as 128 in the bytes
    w + 128, and to add offsets. A group in which no magnitude exceeds 2^-100 has scale
    0 and zeros; a group with a value that is not finite has scale NaN.

    Constraints:
    1. The input is f32 in rows, outs are i8 in rows.
    2. Input and outs have equal sizes.
    3. The last size is a constant, a multiple of 4.
    4. The group is a power of two from 32 to 1024.
    5. `scales` is f32 in rows, with the leading sizes of the input and two columns
       for each group.

    Example:
    ```mlir
    kern.quantize %x outs(%y) scales(%s) group 128 : !kern.buffer<[rows, 768] x f32>,
        !kern.buffer<[rows, 768] x i8>, !kern.buffer<[rows, 12] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_BufferType:$outs, Kern_BufferType:$scales, I64Attr:$group);
  let assemblyFormat = "$input `outs` `(` $outs `)` `scales` `(` $scales `)` `group` $group attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_SoftmaxOp : Kern_BufferizedOp<"softmax"> {
  let summary = "softmax over each row; a row with only minus infinity returns zeros";
  let description = [{
    exp(x - maximum) divided by their sum, which runs in 16 lanes by index.

    Constraints:
    1. Input and outs are f32 in rows.
    2. They have equal sizes.

    Example:
    ```mlir
    kern.softmax %x outs(%y) : !kern.buffer<[rows, seq] x f32>, !kern.buffer<[rows, seq] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_BufferType:$outs);
  let assemblyFormat = "$input `outs` `(` $outs `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_RowSummaryOp : Kern_BufferizedOp<"row_summary"> {
  let summary = "maximum and sum of exponentials for each 64 columns in a row";
  let description = [{
    `outs` are maxima and sums: for columns 64 g to 64 g + 63 in row r, `maxima[r, g]` is
    the maximum m, and `sums[r, g]` the sum of exp2((x - m) * log2 e), which runs in 16
    lanes by column modulo 16 that a fixed tree reduces. The maximum for a group with a
    NaN or an infinity is NaN.

    An entry's caller may pass NULL for sums, or for both; they are then not computed.

    Constraints:
    1. Input and outs are f32 in rows.
    2. There are two outs. The input has a constant last size n; each out has the
       input's leading sizes, then ceil(n / 64).

    Example:
    ```mlir
    kern.row_summary %x outs(%m, %s) : !kern.buffer<[rows, 1000] x f32>,
        !kern.buffer<[rows, 16] x f32>, !kern.buffer<[rows, 16] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Variadic<Kern_BufferType>:$outs);
  let assemblyFormat = "$input `outs` `(` $outs `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Kern_EmbeddingOp : Kern_BufferizedOp<"embedding", [SameVariadicOperandSize],
    ["acceptsStride", "gathersWeight"]> {
  let summary = "sums weight rows selected by index";
  let description = [{
    `outs[r] = sum over i of scale * tables[i][ids[i][r]]`, in table order. A table may
    be `rows` or `panels32` (a tied head's weight, whose columns are read with a
    stride), f32 or bf16. The runtime checks the indices.

    Constraints:
    1. There is at least one table, and an id and a scale for each.
    2. Outs is f32 in rows.
    3. Ids are i64, one for each outs row.
    4. Each table is [any, width], where outs has this width.
    5. A table in panels has no splits.

    Example:
    ```mlir
    kern.embedding ids(%i) tables(%w) outs(%y) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>),
        (!kern.weight<[100, 8] x f32, rows>), !kern.buffer<[rows, 8] x f32>
    ```
  }];
  let arguments = (ins Variadic<Kern_BufferType>:$ids, Variadic<Kern_WeightType>:$tables,
                       Kern_BufferType:$outs, DenseF64ArrayAttr:$scales);
  let assemblyFormat = "`ids` `(` $ids `)` `tables` `(` $tables `)` `outs` `(` $outs `)` attr-dict `:` `(` type($ids) `)` `,` `(` type($tables) `)` `,` type($outs)";
  let hasVerifier = 1;
}

def Kern_ElementwiseOp : Kern_BufferizedOp<"elementwise", [NoTerminator, SingleBlock],
    ["acceptsStride", "canRoundOutput", "roundOutput"]> {
  let summary = "runs a region with scalar operations for each element";
  let description = [{
    Inputs broadcast to the dims of `outs` as in NumPy. The region has a scalar argument
    for each input and ends with `kern.yield`; it contains arith operations and
    `kern.apply`. Input and outs may be one buffer. Integer division by zero returns the
    dividend. bf16 is only converted: `arith.extf` and `arith.truncf`, to nearest even.

    Constraints:
    1. Inputs are buffers, or weights in `rows` or `unset`; neither they nor outs
       are key panels.
    2. Input sizes broadcast to outs' sizes.
    3. The region has an argument with each input's element type.
    4. The region yields the element type of outs.
    5. The region contains only arith operations and `kern.apply`.

    Example:
    ```mlir
    kern.elementwise ins(%x, %w) outs(%y) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      kern.yield %c : f32
    } : (!kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>) -> !kern.buffer<[rows, 8] x f32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, Kern_BufferType:$outs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`ins` `(` $inputs `)` `outs` `(` $outs `)` $body attr-dict `:` functional-type($inputs, $outs)";
  let hasVerifier = 1;
}

def Kern_ApplyOp : Kern_Op<"apply", [Pure]> {
  let summary = "applies an activation function to a scalar";
  let description = [{
    The functions are defined by `attn.activation`.

    Example:
    ```mlir
    %y = kern.apply <gelu> %x
    ```
  }];
  let arguments = (ins Kern_ActivationAttr:$kind, F32:$input);
  let results = (outs F32:$result);
  let assemblyFormat = "$kind $input attr-dict";
}

def Kern_YieldOp : Kern_Op<"yield", [Pure, Terminator]> {
  let summary = "yields an elementwise region's value";
  let description = [{
    Terminates the region in `kern.elementwise`, which checks its type.

    Example:
    ```mlir
    kern.yield %y : f32
    ```
  }];
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // TRANSOM_DIALECTS_KERN_KERNROWOPS_TD
