// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry of an encoder.
#pragma once
#include "compiler/import/huggingface/blocks/Blocks.h"

namespace transom {

/// An entry of an encoder that has been begun.
struct EncoderStart {
  llvm::SmallVector<mlir::Value> arguments;
  mlir::Value state; ///< the last hidden state
  /// What the embedding and each layer give; the last one is `state`.
  llvm::SmallVector<mlir::Value> states;
};

/// Begins an entry with the arguments of an encoder (token ids, the padding
/// mask and, where the family has them, token types), then `more`, and writes
/// the base model. The context may be of a decoder, whose tokens see those
/// before them.
EncoderStart beginEncoder(BlockContext &context, const std::string &name,
                          llvm::ArrayRef<EntryInput> more = {});

/// Sets a result of all tokens to zero at padding. One number a token
/// (`isNumber`) is [batch, seq].
mlir::Value zeroPadding(BlockContext &context, mlir::Value value,
                        const std::string &location, bool isNumber = false);

/// Builds the entry of an encoder: embeddings, layers, the results of the head,
/// zero at padding. Errors are the emitter's.
void buildEncoder(BlockContext &context, const std::vector<HeadResult> &results,
                  const std::string &name = "encode");

/// Builds the entry `hidden_states` with the states of the embedding (0) and of
/// layers, -1 being the last hidden state; zero at padding. The context may be
/// of a decoder.
void buildHiddenStates(BlockContext &context,
                       const std::vector<int64_t> &layers);

} // namespace transom
