// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer GEMMs, for `kern-choose-precision`.
#pragma once
#include "dialects/kern/Kern.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Remarks.h"

namespace transom {

/// An option for weights.
struct QuantizeOption {
  /// The format for float weights in files; absent: unchanged.
  std::optional<OperandFormat> format;
  /// Pre-quantized weights (integers in files) become f32, too.
  bool isFloat = false;
};

/// The options as module attributes: `transom.quantize`,
/// `transom.quantize_head` (by default the same) and
/// `transom.quantize_embeddings` are formats with groups, or "none".
struct QuantizeOptions {
  QuantizeOption products, head, tables;
  /// GEMM inputs stay f32: `transom.activations` is "f32".
  bool keepsInputs = false;

  static QuantizeOptions get(mlir::ModuleOp module);
  /// True if any float weight gets a format.
  bool hasFormats() const;
};

/// Sets weight formats: pre-quantized GEMM weights get a format that holds
/// their integers; other GEMM weights, and embedding tables that no GEMM reads,
/// get the option's format. Quantizes the inputs of these GEMMs, each buffer
/// once until it is written again. Returns the GEMM count.
int64_t quantizeProducts(mlir::ModuleOp module, const QuantizeOptions &options,
                         Remarks &remarks);

} // namespace transom
