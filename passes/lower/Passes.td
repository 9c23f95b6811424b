// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of lowering that run on kern.
#ifndef TRANSOM_PASSES_LOWER_PASSES_TD
#define TRANSOM_PASSES_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertKernToOnednnPass : Pass<"convert-kern-to-onednn", "::mlir::ModuleOp"> {
  let summary = "hands products, softmax and norms to oneDNN";
  let description = [{
    Each becomes a `kern.onednn`, which the runtime does as a whole by a call of
    oneDNN; bias, activation and residual of a product go along. Everything
    else keeps its generated code: attention, embeddings, movements.

    Pre-condition: epilogues are fused, weights have no layout yet.
    Post-condition: what could be converted is; its weights will lie in rows.

    Refuses, and leaves native: a product with several outs, key panels or a norm
    of its own; an activation that oneDNN lacks; an RMSNorm; elements that are
    not f32; more than 8 dimensions; a product of activations that writes
    what it reads.

    Example:
    ```mlir
    kern.gemm %x, %w bias %b outs(%y) epilogue <gelu> : ...
    // becomes
    kern.onednn "matmul" %x weights(%w, %b) outs(%y) activation <gelu> : ...
    ```
  }];
  let dependentDialects = ["::transom::kern::KernDialect"];
  let statistics = [
    Statistic<"products", "products", "products with a weight that oneDNN does">,
    Statistic<"batchProducts", "batch-products", "products of activations that oneDNN does">,
    Statistic<"softmaxes", "softmaxes", "softmaxes that oneDNN does">,
    Statistic<"norms", "norms", "norms that oneDNN does">];
}

#endif // TRANSOM_PASSES_LOWER_PASSES_TD
