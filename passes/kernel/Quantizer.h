// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of whole numbers, a part of `kern-choose-precision`.
#pragma once
#include "dialects/kern/Kern.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Remarks.h"

namespace transom {

/// What an option says of weights.
struct QuantizeOption {
  /// The format of what files have as floats; nothing: it stays.
  std::optional<OperandFormat> format;
  /// What files have as whole numbers becomes f32, too.
  bool isFloat = false;
};

/// The options as attributes of the module: `transom.quantize`,
/// `transom.quantize_head` (by default the same) and
/// `transom.quantize_embeddings` are formats in groups, or "none".
struct QuantizeOptions {
  QuantizeOption products, head, tables;
  /// What products read stays f32: `transom.activations` is "f32".
  bool keepsInputs = false;

  static QuantizeOptions get(mlir::ModuleOp module);
  /// True if any weight of floats gets a format.
  bool hasFormats() const;
};

/// Gives weights of products that files have as whole numbers a format that
/// holds these, and the others that of the options, as well as tables of
/// embeddings that no product reads. Quantizes what products with such weights
/// read, each buffer once until it is written again. Returns the number of
/// products.
int64_t quantizeProducts(mlir::ModuleOp module, const QuantizeOptions &options,
                         Remarks &remarks);

} // namespace transom
