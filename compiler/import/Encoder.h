// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds an encoder with its head from a family's row: embeddings, layers of
// attention and feed-forward with the norm behind each residual sum, results.
#pragma once
#include "compiler/import/Emitter.h"
#include "compiler/import/Families.h"

namespace transom {

/// The numbers of one model, read from its config and checked.
struct ModelSizes {
  int64_t vocab = 0, hidden = 0, layers = 0, heads = 0, intermediate = 0;
  int64_t positions = 0; ///< rows of the position table
  int64_t types = 0;     ///< 0 where the family has none
  int64_t pad = 0;
  int64_t maxLength = 0; ///< longest sequence that has positions
  int64_t labels = 0;
  double epsilon = 0;
  std::optional<attn::ActivationKind> activation;
  bool tied = true; ///< the decoder's weight may be the word table
};

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

  /// A parameter of a module: the tensor under the base model's prefix or
  /// without it, under its new or old name.
  mlir::Value parameter(const std::string &module, const std::string &name,
                        std::vector<int64_t> shape, const std::string &sizes);
  std::string tensorOf(const std::string &module, const std::string &name,
                       bool *found = nullptr) const;
  mlir::Value project(mlir::Value input, const std::string &module,
                      int64_t from, int64_t to, const std::string &sizes);
  mlir::Value activate(mlir::Value input,
                       std::optional<attn::ActivationKind> kind);
  mlir::Value normalize(mlir::Value input, const std::string &module);
  /// Operations from now on belong to this module of the base model, and were
  /// asked for by this key of the config.
  void at(const std::string &module, const ConfigKey &key);
  void at(const std::string &module, const std::string &pointer);
  bool inBase(const std::string &module) const;

  Emitter &emit;
  const ModelFiles &files;
  const Family &family;
  const FamilyHead &theHead;
  const ModelSizes &sizes;
  bool prefixed = false; ///< the files' tensors carry the prefix
  std::string placePrefix;
  Polynomial batch = Polynomial::symbol("batch");
  Polynomial seq = Polynomial::symbol("seq");
  mlir::Value visible; ///< bool [batch, seq]
  mlir::Value keyMask; ///< bool [batch, 1, 1, seq]
  mlir::Value pooled;  ///< the pooler's output, once made
};

} // namespace transom
