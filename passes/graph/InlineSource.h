// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of an encoder-decoder as one function.
#pragma once
#include "passes/graph/GraphSupport.h"
#include "llvm/ADT/StringMap.h"

namespace transom {

/// What the decoder reads of the encoder, within one function.
struct SourceValues {
  /// Keys and values of one layer, [rows, width] each, and their ragged batch.
  struct Layer {
    mlir::Value key, value, ragged;
  };
  llvm::StringMap<Layer> layers; ///< by the symbols of read-only caches
};

/// The argument of an entry with a role (`attn.role`) and rank 2, the first of
/// several; null without one.
mlir::BlockArgument findArgument(mlir::func::FuncOp function,
                                 llvm::StringRef role);

/// The token ids of an entry whose batch and length are symbols; null without
/// any.
mlir::BlockArgument findSymbolicIds(mlir::func::FuncOp entry);

/// True for an entry that fills read-only caches from the states of an encoder
/// [batch, seq, width] and a mask, its two arguments, and for an encoder whose
/// first result are such states and which has a mask, too.
bool isPlainSource(mlir::func::FuncOp encoder, mlir::func::FuncOp source);

/// Moves the operations of both, see `isPlainSource`, to the start of a
/// function, and erases them. The function gets the encoder's arguments before
/// its own. Caches are not filled: the result has what they would hold.
SourceValues inlineSource(mlir::func::FuncOp function,
                          mlir::func::FuncOp encoder,
                          mlir::func::FuncOp source);

} // namespace transom
