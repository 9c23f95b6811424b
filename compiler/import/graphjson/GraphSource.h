// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph.json encoder as the source for its decoder: its inputs and results,
// and the entry that projects its states to keys and values for attentions with
// `cross`.
#pragma once
#include "compiler/import/graphjson/GraphOps.h"

namespace transom {

/// An encoder state projection: tensor names, and the location in the file.
struct CrossProjection {
  std::string weight;
  std::string bias; ///< empty = none
  std::string where;
};

/// A decoder attention that reads the encoder states.
struct CrossAttention {
  std::string path;    ///< its module path
  std::string pointer; ///< its location in the file
  CrossProjection key, value;
  std::string cache; ///< symbol of the cache that `source` fills
  attn::CacheType type;
};

/// The source for one encoder-decoder. Errors are recorded in the emitter.
class GraphSource {
public:
  GraphSource(Emitter &emit, const Graph &encoder)
      : emit(emit), encoder(encoder) {}

  /// Rejects entry names that the runtime or another entry uses, and reserves
  /// the name `source`.
  void checkEntries(const Graph &decoder);
  /// Rejects inputs other than a batch's ids and mask.
  void checkInputs(llvm::ArrayRef<EntryInput> inputs);
  /// Sets the completed encoder entry's results.
  void setStates(llvm::ArrayRef<mlir::Value> results);

  /// Size of one state.
  int64_t width() const { return *states.back().constant(); }
  /// Max source length, if the encoder has a limit.
  std::optional<int64_t> longest() const;
  /// Declares an attention's cache and returns it as a step operand.
  mlir::Value addAttention(CrossAttention attention);

  /// Builds the entry that fills the caches for all attentions.
  void build();

private:
  mlir::Value project(mlir::Value rows, const CrossProjection &projection);

  Emitter &emit;
  const Graph &encoder;
  Dims tokens; ///< [batch, seq]
  Dims states; ///< [batch, seq, width]
  std::vector<CrossAttention> attentions;
};

} // namespace transom
