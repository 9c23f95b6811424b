// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the entry `step` of a decoder from a family's row and a model's
// numbers: embeddings, layers over a cache each, the head on the rows that are
// asked for.
#pragma once
#include "compiler/import/Parameters.h"
#include "compiler/import/huggingface/DecoderConfig.h"

namespace transom {

/// Builds one model. States are [rows, hidden size].
class DecoderBuilder {
public:
  DecoderBuilder(Emitter &emit, const ModelFiles &files,
                 const DecoderFamily &family, const DecoderHead &head,
                 const DecoderModel &model);
  /// Makes the entry; errors are the emitter's.
  void build();

private:
  /// Query, key and value of a layer: [rows, heads * head size].
  struct Heads {
    mlir::Value query, key, value;
  };

  mlir::Value embeddings(mlir::Value tokens);
  void startPositions(mlir::Value tokens);
  mlir::Value layer(mlir::Value state, int64_t number);
  mlir::Value parallelLayer(mlir::Value state, int64_t number);
  mlir::Value attention(mlir::Value state, int64_t number);
  Heads projectHeads(mlir::Value state, const std::string &layer);
  /// Rows of a fused projection: those of part 0 (query), 1 (key), 2 (value).
  mlir::Value fusedPart(mlir::Value state, const std::string &module, int part);
  /// The norm of each head where the family has one, then the rotation.
  mlir::Value turn(mlir::Value heads, int64_t count, const std::string &layer,
                   const char *norm);
  mlir::Value mlp(mlir::Value state, const std::string &layer);
  mlir::Value gated(mlir::Value state, const std::string &layer);
  mlir::Value head(mlir::Value state);
  mlir::Value vocabularyWeight(std::string &module);

  mlir::Value project(mlir::Value input, const std::string &module,
                      int64_t from, int64_t to, bool bias);
  /// Rows [start, start + count) of a projection to `all` as one of its own.
  mlir::Value projectRows(mlir::Value input, const std::string &module,
                          int64_t from, int64_t all, int64_t start,
                          int64_t count, bool bias, const char *suffix);
  mlir::Value normalize(mlir::Value input, const std::string &module);
  mlir::Value add(mlir::Value a, mlir::Value b, const std::string &module);
  std::string layerName(int64_t number) const;
  static ModuleNaming namingOf(const DecoderFamily &family,
                               const DecoderHead &head);

  Emitter &emit;
  const DecoderFamily &family;
  const DecoderHead &theHead;
  const DecoderModel &model;
  Parameters parameters;
  Polynomial rows = Polynomial::symbol("rows");
  mlir::Value ragged, rotation, slopes;
};

} // namespace transom
