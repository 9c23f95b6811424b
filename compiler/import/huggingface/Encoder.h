// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder entries.
#pragma once
#include "compiler/import/huggingface/blocks/Blocks.h"

namespace transom {

/// An encoder entry that has been started.
struct EncoderStart {
  llvm::SmallVector<mlir::Value> arguments;
  mlir::Value state; ///< the last hidden state
  /// Outputs of the embedding and each layer; the last one is `state`.
  llvm::SmallVector<mlir::Value> states;
};

/// Begins an entry with the encoder inputs (token ids, the padding mask and, if
/// the family has them, token types), then `more`, and builds the base model.
/// `context` may belong to a decoder, whose tokens attend to the tokens before
/// them.
EncoderStart beginEncoder(BlockContext &context, const std::string &name,
                          llvm::ArrayRef<EntryInput> more = {});

/// Sets padded tokens to zero in a result for all tokens. With one value per
/// token (`isNumber`) its shape is [batch, seq].
mlir::Value zeroPadding(BlockContext &context, mlir::Value value,
                        const std::string &location, bool isNumber = false);

/// Builds an encoder's entry: embeddings, layers and head results, zero at
/// padding. Errors are recorded in the emitter.
void buildEncoder(BlockContext &context, const std::vector<HeadResult> &results,
                  const std::string &name = "encode");

/// Builds the entry `hidden_states` with the states after the embedding (0) and
/// the requested layers, -1 being the last hidden state; zero at padding.
/// `context` may belong to a decoder.
void buildHiddenStates(BlockContext &context,
                       const std::vector<int64_t> &layers);

} // namespace transom
