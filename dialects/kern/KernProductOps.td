// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs with weights, and matmuls with two activations.
#ifndef TRANSOM_DIALECTS_KERN_KERNPRODUCTOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNPRODUCTOPS_TD

include "dialects/kern/KernBase.td"

def Kern_GemmOp : Kern_BufferizedOp<"gemm", [AttrSizedOperandSegments, Kern_WeightProductOp],
    ["acceptsStride", "canRoundOutput", "gathersWeight", "roundOutput"]> {
  let summary = "GEMM with a packed weight and an epilogue";
  let description = [{
    `outs = activation(input [m, k] x weight [n, k]^T + bias) + residual`. Multiple
    `outs` receive consecutive column ranges along n (the `splits` in the weight's
    type); an out may be key panels, then row r goes to its key position in `ragged`.
    Each output element is one chain of fused multiply-adds over ascending k, starting
    from the bias, so results are bit-identical for any m and worker count.

    With `norm_gamma` the LayerNorm of each `outs` row goes to `norm_out`, to
    `norm_copy` in rounded form, or both. The worker that completes the rows computes
    it, which `norm_counters` (zero before and after) determine. With `rms_norm` in the
    epilogue it is the RMSNorm.

    With `glu` in the epilogue the weight's rows are interleaved, alternating 8 g
    rows and 8 u rows, and `outs [m, n/2] = activation(g) * u` is computed in registers.

    With `summary` the maxima and the sums of exponentials for each 64 columns in the
    single out go to its two buffers, as in `kern.row_summary`.

    A bf16 weight takes a bf16 input: the chain then takes pairs along k, products are
    exact and sums f32, and the activation and the residual are f32.

    A grouped weight takes an i8 input with `scales`, both from `kern.quantize`: the
    integer products in a group are summed exactly, then the sum times both scales is
    added in one fused multiply-add for each group, in ascending group order. With an
    f32 input the weight is dequantized to f32 instead: each element is multiplied by
    its scale, with its offset added in a fused multiply-add if there is one, followed
    by the f32 GEMM.

    With `columns [c]`, column i of the single out is bit-identical to column
    `columns[i]` of the full result. The selected weight and bias columns are copied
    into `panels`, which have the weight's format: a worker copies one panel with 32
    columns and multiplies with it. A panel also stores the index of each column that
    it contains, so columns that are still present from the last call are not copied.
    The `panels` memory is therefore persistent across calls, and zero before the
    first (`kern-plan-memory`).

    Each out is f32 or bf16, rounded to nearest even, for any input type. A single i8
    out, or an i8 `norm_copy`, has `out_scales`, both equal to `kern.quantize` on the
    f32 result; the worker that computes a group of columns quantizes it.

    Constraints:
    1. The input is f32, bf16 or i8 in rows.
    2. The weight is [n, k], where k is the input's last size.
    3. The weight is in `panels32` or `unset`.
    4. The input is bf16 if the weight is, i8 or f32 if the weight is in groups, else
       f32.
    5. The bias is f32 [n] in `padded32` or `unset`.
    6. The bias has the weight's splits.
    7. There is one out for each weight split, or one if the weight has no splits.
    8. An out is f32, bf16 or i8 and as wide as its split.
    9. An out in rows has the input's rows.
    10. An out is not bf16 if k has several K blocks.
    11. `ragged` is given exactly if an out is key panels.
    12. With key panels there is no activation, residual or norm.
    13. A residual is f32 in rows, with the single out's sizes.
    14. `norm_gamma`, `norm_counters`, a norm in the epilogue and `norm_out` or
        `norm_copy` come together; `norm_beta` comes with them only.
    15. With a norm there is a single out, f32 in rows.
    16. Gamma and beta are f32 [n] in `rows` or `unset`.
    17. An `rms_norm` has no beta.
    18. `norm_out` is f32 and `norm_copy` is bf16 or i8, in rows with the out's sizes.
    19. `norm_counters` has an i64 for each row.
    20. Neither outs nor norm results use the input's memory, because other tiles still
        read it.
    21. A residual uses the out's memory only without an activation and if k fits in
        one K block, because tiles wait there.
    22. With `glu` there is a single out in rows, no residual, no norm and no splits.
    23. With `glu`, n is divisible by 16 and k has one K block; one bf16 K block if
        the weight is `unset` and may become bf16.
    24. With a summary there is a single out, f32 in rows, no norm and no `glu`; the
        summary is two buffers, f32 in rows, with the out's leading sizes and
        ceil(n / 64).
    25. `scales` are given exactly with an i8 input: f32 in rows, for the input, with
        two columns for each weight group.
    26. `out_scales` are given exactly if an out or `norm_copy` is i8: f32 in rows with
        the out's leading sizes and two columns for each group of 32 to 1024 columns;
        the out's column count is divisible by 4.
    27. With an i8 out there is no other out.
    28. k is divisible by a grouped weight's interleave.
    29. Columns are dense i64 [c]; the out then has c columns instead of n.
    30. With columns there is a single out, f32 in rows, no epilogue, residual or
        summary and no splits.
    31. `panels` require columns, once the weight has a layout: i8 [p, b], where b is
        the panel size in bytes, including its bias and column indices.

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
    /// Builds a GEMM without residual and norm.
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight, "::mlir::Value":$bias,
                   "::mlir::ValueRange":$outs, CArg<"EpilogueAttr", "{}">:$epilogue), [{
      ::mlir::Value none;
      build($_builder, $_state, input, weight, none, bias, none, none, none, none, none, none, none, none,
            ::mlir::ValueRange(), outs, none, none, epilogue);
    }]>
  ];
  let extraClassDeclaration = [{
    /// Returns the epilogue's activation, unless it is a GLU activation.
    std::optional<::transom::Activation> getActivation();
    /// Returns the GLU activation in the epilogue.
    std::optional<::transom::Activation> getGlu();
    /// Returns the norm epsilon in the epilogue.
    std::optional<::llvm::APFloat> getNormEps();
    /// Returns true if the epilogue's norm is an RMSNorm.
    bool getNormRms();
    /// Column panel layout in bytes: the offsets for the bias and the column indices,
    /// and the panel size.
    struct ColumnPanel {
      int64_t bias, numbers, bytes;
    };
    ColumnPanel getColumnPanel();
  }];
}

def Kern_BatchMatmulOp : Kern_BufferizedOp<"batch_matmul"> {
  let summary = "matmul with two activations";
  let description = [{
    `lhs [..., m, k] x rhs [..., k, n] -> outs [..., m, n]`; leading dimensions
    broadcast. Each element is one chain of fused multiply-adds over ascending k, from
    zero.

    Constraints:
    1. Operands are f32 in rows, with rank 2 or more.
    2. The last size in lhs is the second last in rhs.
    3. Outs has lhs's rows and rhs's columns.
    4. Leading sizes of lhs and rhs equal those in outs or are 1.

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
  let summary = "GEMM on each head's columns with a separate weight per head";
  let description = [{
    `outs[h*rows + r, i] = sum over c of input[r, h*k + c] * weight[h*n + i, c]` for
    each of `heads` heads h, in head-major order. Each element is one chain of fused
    multiply-adds over ascending c, from zero, as in `kern.gemm`, so results are
    bit-identical for any row and worker count. The weights [n, k] for all heads are
    one weight with a split for each head (`kern-pack-weights`).

    The columns i are relative positions as defined by `attn.sdpa` with
    `max_distance`. Only panels of 32 columns that contain positions for distances
    below the column count in `ragged` are computed; the others stay undefined. So the
    cost for short sequences does not include large distances.

    Constraints:
    1. The weight is f32 [heads*n, k] in `panels32` with a split of n for each head, or
       `unset` without splits; `heads` is positive.
    2. k is at most the size of one pass over k.
    3. Input and outs are f32 in rows, [rows, heads*k] and [heads*rows, n].
    4. Outs does not use the input's memory.
    5. n and `max_distance` satisfy the constraints in `attn.sdpa`.

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
    /// Returns the column count for a head.
    int64_t getHeadColumns() { return getWeight().getType().getShape()[0] / int64_t(getHeads()); }
    /// Returns the rule for relative positions.
    ::transom::PositionBuckets getPositionBuckets() {
      return {getHeadColumns(), int64_t(getMaxDistance())};
    }
  }];
}

#endif // TRANSOM_DIALECTS_KERN_KERNPRODUCTOPS_TD
