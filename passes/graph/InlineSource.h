// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inlines encoder-decoder entries into one function.
#pragma once
#include "passes/graph/GraphSupport.h"
#include "llvm/ADT/StringMap.h"

namespace transom {

/// The encoder values that the decoder reads, within one function.
struct SourceValues {
  /// The keys and values for one layer, [rows, width] each, and their ragged
  /// batch.
  struct Layer {
    mlir::Value key, value, ragged;
  };
  llvm::StringMap<Layer> layers; ///< by the symbols of read-only caches
};

/// The first entry argument with this role (`attn.role`) and rank 2; null if
/// absent.
mlir::BlockArgument findArgument(mlir::func::FuncOp function,
                                 llvm::StringRef role);

/// The token ids if their batch and length are symbols; null otherwise.
mlir::BlockArgument findSymbolicIds(mlir::func::FuncOp entry);

/// True for an entry `source` whose two arguments are encoder states [batch,
/// seq, width] and a mask, from which it fills read-only caches, and an encoder
/// whose first result is such states and which also has a mask.
bool isPlainSource(mlir::func::FuncOp encoder, mlir::func::FuncOp source);

/// Moves all operations from both functions (see `isPlainSource`) to the start
/// of a third one, and erases the two. The third one gets the encoder's
/// arguments before its own. Caches are not filled; the result contains the
/// values instead.
SourceValues inlineSource(mlir::func::FuncOp function,
                          mlir::func::FuncOp encoder,
                          mlir::func::FuncOp source);

} // namespace transom
