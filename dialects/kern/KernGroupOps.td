// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that an operation writes during a call, and tokens sorted into groups,
// such as those of each expert.
#ifndef TRANSOM_DIALECTS_KERN_KERNGROUPOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNGROUPOPS_TD

include "dialects/kern/KernBase.td"

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

def Kern_BoundedSizeOp : Kern_Op<"bounded_size", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "declares a size that an operation writes during a call";
  let description = [{
    The name is a symbol that dimensions of buffers may use. Other symbols have
    their values when a call begins. This one gets its value from the operation
    that names it (`BufferOp::getWrittenSize`), and operations of later phases
    read it. The value is never above `bound`, so `kern-plan-memory` plans with
    the bound. Arguments and results of an entry cannot have a bounded size.

    The name is one of the entry's `kern.symbols`. In a layer body each layer
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
    /// The bound as a size.
    ::transom::Polynomial getParsedBound();
  }];
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

def Kern_GroupTokensOp : Kern_BufferizedOp<"group_tokens",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>], ["getWrittenSize"]> {
  let summary = "sorts tokens by group, such as by expert";
  let description = [{
    `groups` [rows, k] has k group numbers for each token. `tokens` lists the
    tokens group by group, and in ascending order of the elements of `groups`
    within a group (a stable counting sort). The tokens of group g are elements
    offsets[g] <= p < offsets[g + 1] of the list. `positions` [rows, k] is the
    inverse: the index in `tokens` of each element of `groups`.

    A negative number is no group: the element is not in the list and its
    position is -1. So the length of the list is known during the call only. It
    is written to the bounded size `size`. A number that is not below the number
    of groups is an error of the program; code treats it as a negative one.

    `tokens` are indices for `kern.gather`, `positions` for
    `kern.combine_groups`.

    Constraints:
    1. Groups are i32 or i64 of rank 2, dense.
    2. Tokens are i64 of size [size], dense.
    3. Offsets are i64, dense, of a constant size, which is one more than the number
       of groups and at least 2.
    4. Positions are i64 of the sizes of the groups, dense.
    5. The size is a `kern.bounded_size`.
    6. Its bound is at least the number of elements of the groups.

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
    /// The number of groups.
    int64_t getNumGroups();
  }];
}

def Kern_GroupGemmOp : Kern_BufferizedOp<"group_gemm",
    [AttrSizedOperandSegments, Kern_WeightProductOp], ["acceptsStride"]> {
  let summary = "product of the rows of each group with a weight of its own";
  let description = [{
    `outs = input x weight_g^T + bias_g` for the rows of group g, offsets[g] <= r
    < offsets[g + 1]. The weights [n, k] of all groups are one weight
    [groups*n, k] with a split for each group, and so is the bias. One chain of
    fused multiply-adds over ascending k for each output, starting from the
    bias, as in `kern.gemm`, so that results are bit-identical for any rows and
    number of workers. Rows after the last offset are not written.

    A weight of whole numbers takes an input of i8 with `scales`, or of f32, as
    that of `kern.gemm` does.

    Constraints:
    1. The weight is [groups*n, k], `panels32` or `unset`, with equal splits, one
       for each group.
    2. k is at most what one pass over k takes.
    3. Input and outs are [rows, k] and [rows, n].
    4. The input is rows of what the weight's type is multiplied with, or of f32
       for a weight of whole numbers; outs are of f32 or bf16, rounded to nearest
       even.
    5. The bias is [groups*n], `padded32` or `unset`, with the weight's splits.
    6. Offsets are i64 and dense, one more than there are groups.
    7. Outs is not in the input's memory.
    8. `scales` are given exactly with an input of i8: f32 in rows, those of the
       input, with two columns for each scale of a row of the weight.
    9. k is a multiple of the interleave of a weight of whole numbers.

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
    /// Columns of a group's product.
    int64_t getGroupColumns() { return getWeight().getType().getSplits().front(); }
  }];
}

def Kern_CombineGroupsOp : Kern_BufferizedOp<"combine_groups", [], ["acceptsStride"]> {
  let summary = "adds up the scaled rows of each token";
  let description = [{
    `outs[r] = sum over c of scales[r, c] * input[positions[r, c]]`, a chain of
    fused multiply-adds over ascending c, from zero. A position of -1 adds
    nothing.

    Constraints:
    1. Input and outs are f32 in rows of rank 2 with equal last sizes.
    2. Positions are i64 and dense, with the rows of outs and a constant number of
       columns.
    3. Scales are f32 of the sizes of the positions, dense.

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
