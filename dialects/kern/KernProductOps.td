// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with weights and of activations.
#ifndef TRANSOM_DIALECTS_KERN_KERNPRODUCTOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNPRODUCTOPS_TD

include "dialects/kern/KernBase.td"

def Kern_GemmOp : Kern_BufferizedOp<"gemm", [AttrSizedOperandSegments, Kern_WeightProductOp],
    ["acceptsStride", "canRoundOutput", "gathersWeight", "roundOutput"]> {
  let summary = "product with a packed weight, with an epilogue";
  let description = [{
    `outs = activation(input [m, k] x weight [n, k]^T + bias) + residual`. With
    several `outs` consecutive column ranges of n go to one each (`splits` of the
    weight's type); an out may be key panels, then row r goes to the key position
    of row r in `ragged`. One chain of fused multiply-adds over ascending k for
    each output, starting from the bias, so that results are
    bit-identical for any m and number of workers.

    With `norm_gamma` the LayerNorm of each row of `outs` goes to `norm_out`,
    rounded to `norm_copy`, or both, made by the worker that completes the rows;
    `norm_counters` (zero before and after) tell which worker that is. With
    `rms_norm` in the epilogue it is the RMSNorm.

    With `glu` in the epilogue the weight's rows are interleaved, 8 of g and 8 of u
    in turn, and `outs [m, n/2] = activation(g) * u`, made in registers.

    With `summary` the maxima and the sums of exponentials of each 64 columns of
    the single out go to its two buffers, as `kern.row_summary` computes them.

    A weight of bf16 takes an input of bf16: the chain then takes pairs along k,
    products are exact and sums f32, and the activation and the residual are f32.

    A weight in groups takes an input of i8 with `scales`, both from
    `kern.quantize`: the whole numbers of a group are summed exactly, then the sum
    is added, times the product of both scales, in one fused multiply-add for each
    group, groups in ascending order. With an input of f32 its numbers are those of
    f32 that they stand for: each whole number times its scale, or in one fused
    multiply-add its minimum, too; the product is the one of f32.

    With `columns [c]` column i of the single out is column `columns[i]` of the
    product, bit for bit. Their part of the weight and the bias is copied into
    `panels`, which is in the weight's format: a worker copies a panel of 32 and
    multiplies with it. Beside each of its columns a panel has the number of what
    it holds, so that a column which is there from the last call is not copied.
    So the memory of `panels` outlasts a call, and is zero before the first
    (`kern-plan-memory`).

    Each out is f32 or bf16, rounded to nearest even, whatever the input is. A
    single out, or `norm_copy`, of i8 has `out_scales`, both as `kern.quantize`
    makes them of the result in f32; the worker that makes a group of columns
    quantizes it.

    Constraints:
    1. The input is f32, bf16 or i8 in rows.
    2. The weight is [n, k], where k is the input's last size.
    3. The weight is in `panels32` or `unset`.
    4. The input is bf16 if the weight is, i8 or f32 if the weight is in groups, else
       f32.
    5. The bias is f32 [n] in `padded32` or `unset`.
    6. The bias has the weight's splits.
    7. There is one out for each split of the weight, or one where it has no
       splits.
    8. An out is f32, bf16 or i8 and as wide as its split.
    9. An out in rows has the input's rows.
    10. An out is not bf16 if k has several K blocks.
    11. `ragged` is given exactly if an out is key panels.
    12. Beside key panels there is no activation, residual or norm.
    13. A residual is f32 in rows, of the sizes of the single out.
    14. `norm_gamma`, `norm_counters`, a norm in the epilogue and `norm_out` or
        `norm_copy` come together; `norm_beta` comes with them only.
    15. Beside a norm there is a single out, f32 in rows.
    16. Gamma and beta are f32 [n] in `rows` or `unset`.
    17. An `rms_norm` has no beta.
    18. `norm_out` is f32 and `norm_copy` is bf16 or i8, in rows of the out's sizes.
    19. `norm_counters` has an i64 for each row.
    20. No out, nor that of a norm, is in the input's memory, since other tiles
        still read it.
    21. A residual is in the out's memory only without an activation and with a k
        of one K block, since tiles wait there.
    22. Beside `glu` there is a single out in rows, no residual, no norm and no
        splits.
    23. Beside `glu` n is a multiple of 16 and k has one K block; one of bf16
        where the weight is `unset` and may become so.
    24. Beside a summary there is a single out, f32 in rows, no norm and no `glu`;
        the summary is two buffers, f32 in rows, of the out's leading sizes and
        ceil(n / 64).
    25. `scales` are given exactly with an input of i8: f32 in rows, those of the
        input, with two columns for each group of the weight.
    26. `out_scales` are given exactly where an out or `norm_copy` is i8:
        f32 in rows of the leading sizes of the out and two columns for each
        group of 32 to 1024 columns, whose number is a multiple of 4.
    27. Beside an out of i8 there is no other out.
    28. k is a multiple of the interleave of a weight in groups.
    29. Columns are dense i64 [c]; the out then has c columns in place of n.
    30. Beside columns there is a single out, f32 in rows, no epilogue, residual or
        summary and no splits.
    31. `panels` come with columns only, once the weight has a layout: i8
        [p, b], where b is the bytes of a panel with its bias and numbers.

    Example:
    ```mlir
    kern.gemm %x, %w bias %b outs(%y) epilogue <gelu> : !kern.buffer<[rows, 8] x f32>,
        !kern.weight<[64, 8] x f32, unset>, !kern.weight<[64] x f32, unset>, !kern.buffer<[rows, 64] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_WeightType:$weight,
                       Optional<Kern_BufferType>:$input_scales,
                       Optional<Kern_WeightType>:$bias, Optional<Kern_BufferType>:$residual,
                       Optional<Kern_RaggedType>:$ragged,
                       Optional<Kern_WeightType>:$norm_gamma, Optional<Kern_WeightType>:$norm_beta,
                       Optional<Kern_BufferType>:$norm_out, Optional<Kern_BufferType>:$norm_copy,
                       Optional<Kern_BufferType>:$out_scales,
                       Optional<Kern_BufferType>:$norm_counters,
                       Variadic<Kern_BufferType>:$summary,
                       Variadic<Kern_BufferType>:$outs,
                       Optional<Kern_BufferType>:$columns, Optional<Kern_BufferType>:$panels,
                       OptionalAttr<Kern_EpilogueAttr>:$epilogue);
  let assemblyFormat = [{
    $input `,` $weight (`scales` $input_scales^)? (`bias` $bias^)? (`residual` $residual^)? (`ragged` $ragged^)?
    (`\n` `norm` $norm_gamma^)? (`beta` $norm_beta^)? (`norm_out` $norm_out^)?
    (`norm_copy` $norm_copy^)? (`counters` $norm_counters^)? (`summary` `(` $summary^ `)`)? `outs` `(` $outs `)`
    (`out_scales` `(` $out_scales^ `)`)? (`columns` `(` $columns^ `)`)? (`panels` `(` $panels^ `)`)?
    (`epilogue` $epilogue^)? attr-dict `\n` `:` type(operands)
  }];
  let hasVerifier = 1;
  let builders = [
    /// A product without residual and norm.
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight, "::mlir::Value":$bias,
                   "::mlir::ValueRange":$outs, CArg<"EpilogueAttr", "{}">:$epilogue), [{
      ::mlir::Value none;
      build($_builder, $_state, input, weight, none, bias, none, none, none, none, none, none, none, none,
            ::mlir::ValueRange(), outs, none, none, epilogue);
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
    /// Of panels of columns: bytes of each, and where its bias and the numbers of
    /// its columns are.
    struct ColumnPanel {
      int64_t bias, numbers, bytes;
    };
    ColumnPanel getColumnPanel();
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

def Kern_HeadGemmOp : Kern_BufferizedOp<"head_gemm", [], ["acceptsStride"]> {
  let summary = "product of the columns of each head with a weight of its own";
  let description = [{
    `outs[h*rows + r, i] = sum over c of input[r, h*k + c] * weight[h*n + i, c]` for
    each of `heads` heads h: all rows of a head, then those of the next. One chain of
    fused multiply-adds over ascending c, from zero, as in `kern.gemm`, so that results
    are bit-identical for any rows and number of workers. The weights [n, k] of all
    heads are one weight with a split for each head (`kern-pack-weights`).

    The columns i are relative positions as `attn.sdpa` defines them with
    `max_distance`. Only panels of 32 columns with positions of distances below the
    columns of `ragged` are computed; the others stay undefined. So short sequences
    do not pay for far distances.

    Constraints:
    1. The weight is [heads*n, k] of f32 in `panels32` with a split of n for each head,
       or `unset` without splits; `heads` is positive.
    2. k is at most what one pass over k takes.
    3. Input and outs are f32 in rows of [rows, heads*k] and [heads*rows, n].
    4. Outs is not in the input's memory.
    5. n and `max_distance` are as `attn.sdpa` wants them.

    Example:
    ```mlir
    kern.head_gemm %x, %w ragged %s outs(%y) heads 2 : !kern.buffer<[rows, 16] x f32>,
        !kern.weight<[64, 8] x f32, unset>, !kern.ragged<0>, !kern.buffer<[2*rows, 32] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_WeightType:$weight, Kern_RaggedType:$ragged,
                       Kern_BufferType:$outs, I64Attr:$heads,
                       DefaultValuedAttr<I64Attr, "0">:$max_distance);
  let assemblyFormat = [{
    $input `,` $weight `ragged` $ragged `outs` `(` $outs `)` `heads` $heads attr-dict `:` type(operands)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Columns of a head's product.
    int64_t getHeadColumns() { return getWeight().getType().getShape()[0] / int64_t(getHeads()); }
    /// The rule of relative positions.
    ::transom::PositionBuckets getPositionBuckets() {
      return {getHeadColumns(), int64_t(getMaxDistance())};
    }
  }];
}

#endif // TRANSOM_DIALECTS_KERN_KERNPRODUCTOPS_TD
