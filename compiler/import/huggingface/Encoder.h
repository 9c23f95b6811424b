// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds an encoder with its head from a family's row: embeddings, layers of
// attention and feed-forward with the norm behind each residual sum, results.
#pragma once
#include "compiler/import/Parameters.h"
#include "compiler/import/huggingface/EncoderConfig.h"

namespace transom {

/// Builds the entry `encode` of one model.
class EncoderBuilder {
public:
  EncoderBuilder(Emitter &emit, const ModelFiles &files, const Family &family,
                 const FamilyHead &head, const ModelSizes &sizes);
  /// Makes the entry; errors are the emitter's.
  void build();

private:
  mlir::Value embeddings(mlir::Value ids, mlir::Value types);
  mlir::Value layer(mlir::Value state, int64_t number);
  mlir::Value attention(mlir::Value state, const std::string &layer);
  mlir::Value splitHeads(mlir::Value projected);
  mlir::Value pooler(mlir::Value state);
  bool hasPooler() const;
  mlir::Value head(const HeadResult &result, mlir::Value state);
  mlir::Value step(const HeadStep &step, mlir::Value state,
                   mlir::Value lastHidden);
  mlir::Value decoder(const HeadStep &step, mlir::Value state);
  mlir::Value zeroPadding(mlir::Value result, const std::string &place);

  mlir::Value project(mlir::Value input, const std::string &module,
                      int64_t from, int64_t to, const std::string &sizes);
  mlir::Value activate(mlir::Value input,
                       std::optional<attn::ActivationKind> kind);
  mlir::Value normalize(mlir::Value input, const std::string &module);
  /// As of the parameters.
  template <typename Key> void at(const std::string &module, const Key &key) {
    parameters.at(module, key);
  }

  Emitter &emit;
  const ModelFiles &files;
  const Family &family;
  const FamilyHead &theHead;
  const ModelSizes &sizes;
  Parameters parameters;
  Polynomial batch = Polynomial::symbol("batch");
  Polynomial seq = Polynomial::symbol("seq");
  mlir::Value visible; ///< bool [batch, seq]
  mlir::Value keyMask; ///< bool [batch, 1, 1, seq]
  mlir::Value pooled;  ///< the pooler's output, once made
};

} // namespace transom
