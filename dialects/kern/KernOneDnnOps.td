// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps that run in a library.
#ifndef TRANSOM_DIALECTS_KERN_KERNONEDNNOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNONEDNNOPS_TD

include "dialects/kern/KernBase.td"

def Kern_OneDnnOp : Kern_BufferizedOp<"onednn", [AttrSizedOperandSegments]> {
  let summary = "a step that oneDNN runs";
  let description = [{
    It generates no code: it is alone in its phase, and the runtime passes it to
    oneDNN, whose summation order and rounding apply. All types are f32. The
    primitives:

    - `matmul`: `outs = activation(input [.., k] x weight [n, k]^T + bias) +
      residual`, with one or two weights, [n, k] and the bias [n];
    - `batch_matmul`: `input [.., m, k] x rhs [.., k, n]`, leading sizes of
      either broadcast;
    - `softmax` along the last size; a row with only minus infinity returns zeros;
    - `layer_norm` for each row, with gamma and optionally beta, and `eps`.

    Constraints:
    1. `matmul` and `layer_norm` have one or two weights, the others none.
    2. `batch_matmul`, and only it, has `rhs`.
    3. Only `matmul` has a residual.
    4. `layer_norm`, and only it, has `eps`.
    5. Buffers are dense f32 with rank 1 to 8.
    6. Weights are f32 with the sizes above, without splits.
    7. Weights are in `rows` or `unset`.
    8. Input and outs of `softmax` and `layer_norm`, and the residual and outs, have
       equal sizes.
    9. For `matmul`, outs has the input's rows.
    10. For `batch_matmul`, outs is [.., m, n].
    11. For `batch_matmul`, leading sizes equal those in outs or are 1.
    12. Only `matmul` has an activation: relu, gelu, gelu_tanh, silu, quick_gelu,
        tanh or sigmoid.
    13. A matmul writes no memory that it reads, except its residual.

    Example:
    ```mlir
    kern.onednn <matmul> %x weights(%w, %b) outs(%y) activation <gelu> : !kern.buffer<[rows, 8] x f32>,
        !kern.weight<[64, 8] x f32, rows>, !kern.weight<[64] x f32, rows>, !kern.buffer<[rows, 64] x f32>
    ```
  }];
  let arguments = (ins Kern_OneDnnPrimitiveAttr:$primitive, Kern_BufferType:$input,
                       Optional<Kern_BufferType>:$rhs, Variadic<Kern_WeightType>:$weights,
                       Optional<Kern_BufferType>:$residual, Kern_BufferType:$outs,
                       OptionalAttr<Kern_ActivationAttr>:$activation, OptionalAttr<F64Attr>:$eps);
  let assemblyFormat = [{
    $primitive $input (`,` $rhs^)? (`weights` `(` $weights^ `)`)? (`residual` $residual^)?
    `outs` `(` $outs `)` (`activation` $activation^)? attr-dict `:` type(operands)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns whether oneDNN supports the activation.
    static bool supportsActivation(::transom::Activation kind);
  }];
}

#endif // TRANSOM_DIALECTS_KERN_KERNONEDNNOPS_TD
