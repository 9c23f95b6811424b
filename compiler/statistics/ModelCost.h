// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Model cost computed from operations before compilation: GEMMs and attention
// in its entries, and decoder caches. Norms, activations and rotations are not
// counted, by convention.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Polynomial.h"
#include "runtime/json/Json.h"
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// Returns the floating-point operations for all GEMMs and attentions in an
/// entry; a multiply-add counts as two. The symbols are the entry's shape
/// symbols and, if attention reads a cache, `pairs_of_rows` or
/// `pairs_of_rows_window_W` (rows times visible positions) or
/// `pairs_of_rows_source` (rows times source tokens).
Polynomial getFlops(mlir::func::FuncOp entry);

/// Same as above, for one attn operation; zero if it is not counted.
Polynomial getFlops(mlir::Operation *op);

/// Layers whose caches have the same window.
struct ModelCache {
  int64_t window = 0; ///< 0: all positions
  int64_t layers = 0;
  int64_t numbers = 0; ///< elements per position, over all these layers
};

/// Decoder cost at a given number of positions in one sequence.
struct DecoderCost {
  int64_t positions = 0;
  double promptFlops = 0;  ///< for a prompt with that length
  double tokenFlops = 0;   ///< for the last position only
  double cacheNumbers = 0; ///< cached elements for keys and values
};

/// Decoder statistics.
struct DecoderReport {
  std::optional<int64_t> context; ///< max positions; nullopt: unlimited
  int64_t vocabulary = 0;
  std::vector<ModelCache> caches;
  std::vector<DecoderCost> costs; ///< at several lengths up to the context

  /// Returns the elements per position in all caches.
  int64_t cacheNumbers() const;
  /// Appends human-readable lines.
  void addText(llvm::raw_ostream &out) const;
  /// Adds members to the open object.
  void writeJson(JsonWriter &json) const;
};

/// Returns the statistics for a module's decoder, or nullopt without one.
std::optional<DecoderReport> reportDecoder(mlir::ModuleOp module);

} // namespace transom
