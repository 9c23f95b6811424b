// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that an operation writes during a call, and tokens sorted into groups,
// for example by expert.
#ifndef TRANSOM_DIALECTS_KERN_KERNGROUPOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNGROUPOPS_TD

include "dialects/kern/KernBase.td"

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

def Kern_BoundedSizeOp : Kern_Op<"bounded_size", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "declares a size that an operation writes during a call";
  let description = [{
    The name is a symbol for use in buffer dimensions. Other symbols are set when a
    call begins. This one is set by the operation that names it
    (`BufferOp::getWrittenSize`), and operations in later phases read it. The value is
    never above `bound`, so `kern-plan-memory` plans with the bound. An entry's
    arguments and results cannot have a bounded size.

    The name is included in the entry's `kern.symbols`. In a layer body each layer
    writes the size again.

    Constraints:
    1. The bound is a size without negative terms.
    2. The bound uses no bounded size.

    Example:
    ```mlir
    kern.bounded_size @routed bound "2*rows"
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$bound);
  let assemblyFormat = "$sym_name `bound` $bound attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the bound as a size.
    ::transom::Polynomial getParsedBound();
  }];
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

def Kern_GroupTokensOp : Kern_BufferizedOp<"group_tokens",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>], ["getWrittenSize"]> {
  let summary = "sorts tokens by group, for example by expert";
  let description = [{
    `groups` [rows, k] contains k group indices for each token. `tokens` lists the
    tokens by ascending group, and within a group by ascending element index in
    `groups` (a stable counting sort). The tokens in group g are the list elements
    offsets[g] <= p < offsets[g + 1]. `positions` [rows, k] is the inverse: the index in
    `tokens` for each element of `groups`.

    A negative group index means no group: the element is omitted from the list and its
    position is -1. So the list length is known only during the call; it is written to
    the bounded size `size`. A group index above the last group is a program error;
    generated code treats it as negative.

    `tokens` are indices for `kern.gather`, `positions` for `kern.combine_groups`.

    Constraints:
    1. Groups are i32 or i64 with rank 2, dense.
    2. Tokens are i64 with size [size], dense.
    3. Offsets are i64, dense, with a constant size, which is the group count plus one
       and at least 2.
    4. Positions are i64 with the sizes of the groups, dense.
    5. The size is a `kern.bounded_size`.
    6. Its bound is at least the element count of the groups.

    Example:
    ```mlir
    kern.group_tokens %g outs(%t, %o, %p) size @routed : !kern.buffer<[rows, 2] x i64>,
        !kern.buffer<[routed] x i64>, !kern.buffer<[9] x i64>, !kern.buffer<[rows, 2] x i64>
    ```
  }];
  let arguments = (ins Kern_BufferType:$groups, Kern_BufferType:$tokens, Kern_BufferType:$offsets,
                       Kern_BufferType:$positions, FlatSymbolRefAttr:$size);
  let assemblyFormat = [{
    $groups `outs` `(` $tokens `,` $offsets `,` $positions `)` `size` $size attr-dict `:` type(operands)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the group count.
    int64_t getNumGroups();
  }];
}

def Kern_GroupGemmOp : Kern_BufferizedOp<"group_gemm",
    [AttrSizedOperandSegments, Kern_WeightProductOp], ["acceptsStride"]> {
  let summary = "GEMM on each group's rows with a separate weight per group";
  let description = [{
    `outs = input x weight_g^T + bias_g` for the rows in group g, offsets[g] <= r
    < offsets[g + 1]. The weights [n, k] for all groups are one weight [groups*n, k]
    with a split for each group, and likewise the bias. Each element is one chain of
    fused multiply-adds over ascending k, starting from the bias, as in `kern.gemm`, so
    results are bit-identical for any row and worker count. Rows after the last offset
    are not written.

    A quantized weight takes an i8 input with `scales`, or an f32 input, as in
    `kern.gemm`.

    Constraints:
    1. The weight is [groups*n, k], `panels32` or `unset`, with equal splits, one
       for each group.
    2. k is at most the size of one pass over k.
    3. Input and outs are [rows, k] and [rows, n].
    4. The input is in rows, with the operand type for the weight's type, or f32 for a
       quantized weight; outs are f32 or bf16, rounded to nearest even.
    5. The bias is [groups*n], `padded32` or `unset`, with the weight's splits.
    6. Offsets are i64 and dense, one more than there are groups.
    7. Outs does not use the input's memory.
    8. `scales` are given exactly with an i8 input: f32 in rows, for the input, with
       two columns for each scale in a weight row.
    9. k is a multiple of a quantized weight's interleave.

    Example:
    ```mlir
    kern.group_gemm %x, %w bias %b offsets %o outs(%y) : !kern.buffer<[routed, 8] x f32>,
        !kern.weight<[32, 8] x f32, unset, splits [16, 16]>, !kern.weight<[32] x f32, unset, splits [16, 16]>,
        !kern.buffer<[3] x i64>, !kern.buffer<[routed, 16] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_WeightType:$weight,
                       Optional<Kern_BufferType>:$input_scales, Optional<Kern_WeightType>:$bias,
                       Kern_BufferType:$offsets, Kern_BufferType:$outs);
  let assemblyFormat = [{
    $input `,` $weight (`scales` $input_scales^)? (`bias` $bias^)? `offsets` $offsets `outs` `(` $outs `)` attr-dict `:` type(operands)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the column count for a group.
    int64_t getGroupColumns() { return getWeight().getType().getSplits().front(); }
  }];
}

def Kern_CombineGroupsOp : Kern_BufferizedOp<"combine_groups", [], ["acceptsStride"]> {
  let summary = "sums each token's scaled rows";
  let description = [{
    `outs[r] = sum over c of scales[r, c] * input[positions[r, c]]`, a chain of
    fused multiply-adds over ascending c, from zero. A position of -1 adds
    nothing.

    Constraints:
    1. Input and outs are f32 in rows with rank 2 and equal last sizes.
    2. Positions are i64 and dense, with outs' rows and a constant column count.
    3. Scales are f32 with the sizes of the positions, dense.

    Example:
    ```mlir
    kern.combine_groups %x, %p, %s outs(%y) : !kern.buffer<[routed, 8] x f32>,
        !kern.buffer<[rows, 2] x i64>, !kern.buffer<[rows, 2] x f32>, !kern.buffer<[rows, 8] x f32>
    ```
  }];
  let arguments = (ins Kern_BufferType:$input, Kern_BufferType:$positions, Kern_BufferType:$scales,
                       Kern_BufferType:$outs);
  let assemblyFormat = "$input `,` $positions `,` $scales `outs` `(` $outs `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

#endif // TRANSOM_DIALECTS_KERN_KERNGROUPOPS_TD
