// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a model costs, read off its operations before anything is compiled:
// products and attention of its entries, and of a decoder the cache. Norms,
// activations and rotations are not counted, as nobody counts them.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Polynomial.h"
#include "runtime/json/Json.h"
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// Floating-point operations of the products and attentions of an entry, a
/// multiply-add counts two; in the symbols of its shapes and, where attention
/// reads a cache, `pairs_of_rows` or `pairs_of_rows_window_W` (rows times
/// positions that they see) or `pairs_of_rows_source` (rows times tokens of
/// their source).
Polynomial getFlops(mlir::func::FuncOp entry);

/// The same of one operation of attn; zero for those that are not counted.
Polynomial getFlops(mlir::Operation *op);

/// Layers whose caches have one window.
struct ModelCache {
  int64_t window = 0; ///< 0: all positions
  int64_t layers = 0;
  int64_t numbers = 0; ///< of one position, all these layers together
};

/// What a decoder takes for so many positions of one sequence.
struct DecoderCost {
  int64_t positions = 0;
  double promptFlops = 0;  ///< of a prompt of that length
  double tokenFlops = 0;   ///< of the last of so many positions alone
  double cacheNumbers = 0; ///< keys and values that are kept
};

/// A decoder's figures.
struct DecoderReport {
  std::optional<int64_t> context; ///< most positions; nothing: any number
  int64_t vocabulary = 0;
  std::vector<ModelCache> caches;
  std::vector<DecoderCost> costs; ///< at some lengths up to the context

  /// Numbers that all caches take for one position.
  int64_t cacheNumbers() const;
  /// Adds lines for people.
  void addText(llvm::raw_ostream &out) const;
  /// Adds members to the open object.
  void writeJson(JsonWriter &json) const;
};

/// The figures of a module's decoder; nothing where it has none.
std::optional<DecoderReport> reportDecoder(mlir::ModuleOp module);

} // namespace transom
