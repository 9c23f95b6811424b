// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise operations, whose operands broadcast as in NumPy.
#ifndef TRANSOM_DIALECTS_ATTN_ATTNELEMENTWISEOPS_TD
#define TRANSOM_DIALECTS_ATTN_ATTNELEMENTWISEOPS_TD

include "dialects/attn/AttnBase.td"

class Attn_BinaryOp<string mnemonic, string text, string type = "f32"> : Attn_ElementwiseOp<mnemonic> {
  let summary = text # ", broadcast as in NumPy";
  let description = [{
    Constraints:
    1. One element type, bool for `and` and `or`, float or i64 for the others.
    2. The shapes broadcast.

    Example:
    ```mlir
    %y = attn.}] # mnemonic # [{ %a, %b : [2, 4] }] # type # ", [4] " # type # [{
    ```
  }];
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` custom<Types>(type($lhs), type($rhs))";
}
def Attn_AddOp : Attn_BinaryOp<"add", "sum">;
def Attn_SubOp : Attn_BinaryOp<"sub", "difference">;
def Attn_MulOp : Attn_BinaryOp<"mul", "product">;
def Attn_DivOp : Attn_BinaryOp<"div", "quotient">;
def Attn_AndOp : Attn_BinaryOp<"and", "logical and of bool tensors", "i1">;
def Attn_OrOp : Attn_BinaryOp<"or", "logical or of bool tensors", "i1">;

def Attn_NotOp : Attn_ElementwiseOp<"not"> {
  let summary = "logical negation of a bool tensor";
  let description = [{
    Constraints:
    1. The element type is bool.

    Example:
    ```mlir
    %n = attn.not %m : [4] i1
    ```
  }];
  let arguments = (ins AnyTensor:$input);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` custom<Types>(type($input))";
}

def Attn_CastOp : Attn_ElementwiseOp<"cast"> {
  let summary = "converts to another element type; bool is value != 0";
  let description = [{
    A float becomes an integer towards zero; true becomes 1.

    Constraints:
    1. `to` is a float, integer or bool type.

    Example:
    ```mlir
    %m = attn.cast %x to i1 : [4] i64
    ```
  }];
  let arguments = (ins AnyTensor:$input, TypeAttr:$to);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input `to` $to attr-dict `:` custom<Types>(type($input))";
}

def Attn_ScaleOp : Attn_ElementwiseOp<"scale"> {
  let summary = "times a constant, plus a constant";
  let description = [{
    `factor * input + offset` for each element.

    Constraints:
    1. The element type is a float.

    Example:
    ```mlir
    %y = attn.scale %x by 0.125 : [4] f32
    ```
  }];
  let arguments = (ins AnyTensor:$input, F64Attr:$factor,
                       DefaultValuedAttr<F64Attr, "0.0">:$offset);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$input `by` $factor attr-dict `:` custom<Types>(type($input))";
}

def Attn_ActivationOp : Attn_ElementwiseOp<"activation"> {
  let summary = "an elementwise activation function";
  let description = [{
    `gelu` is x/2 (1 + erf(x / sqrt 2)); `gelu_tanh` is x/2 (1 + tanh(sqrt(2/pi)
    (x + 0.044715 x^3))); `quick_gelu` is x sigmoid(1.702 x); `silu` is
    x sigmoid(x); `log1p_relu` is log(1 + max(x, 0)).

    Constraints:
    1. The element type is a float.

    Example:
    ```mlir
    %y = attn.activation <gelu> %x : [4] f32
    ```
  }];
  let arguments = (ins AnyTensor:$input, Attn_ActivationAttr:$kind);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` custom<Types>(type($input))";
}

def Attn_WhereOp : Attn_ElementwiseOp<"where"> {
  let summary = "selects by a bool tensor, broadcast as in NumPy";
  let description = [{
    Constraints:
    1. The condition is bool.
    2. Both values have one element type.
    3. The three shapes broadcast.

    Example:
    ```mlir
    %y = attn.where %c, %a, %b : [4] i1, [4] f32, [1] f32
    ```
  }];
  let arguments = (ins AnyTensor:$condition, AnyTensor:$on_true, AnyTensor:$on_false);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $condition `,` $on_true `,` $on_false attr-dict `:` custom<Types>(type($condition),
    type($on_true), type($on_false))
  }];
}

def Attn_MaskOp : Attn_ElementwiseOp<"mask"> {
  let summary = "scores where a bool mask is true, else minus infinity";
  let description = [{
    `scores [..., q, k]`, `mask` bool broadcastable to it, true = attend.
    `value` replaces masked scores: minus infinity, or a finite value that the
    model uses instead (then masked scores are data).

    Constraints:
    1. The scores are float, the mask bool.
    2. The mask broadcasts to the scores' shape.

    Example:
    ```mlir
    %y = attn.mask %s, %m with -1.0e9 : [2, 4, 4] f32, [4, 4] i1
    ```
  }];
  let arguments = (ins AnyTensor:$scores, AnyTensor:$mask, F64Attr:$value);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $scores `,` $mask `with` $value attr-dict `:` custom<Types>(type($scores), type($mask))
  }];
}

#endif // TRANSOM_DIALECTS_ATTN_ATTNELEMENTWISEOPS_TD
