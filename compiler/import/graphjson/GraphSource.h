// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The encoder of a graph.json as the source of its decoder: what it takes and
// gives, and the entry that projects its states to the keys and values of the
// attentions with `cross`.
#pragma once
#include "compiler/import/graphjson/GraphOps.h"

namespace transom {

/// A projection of the encoder's states: names of tensors, and where the file
/// asks for it.
struct CrossProjection {
  std::string weight;
  std::string bias; ///< empty = none
  std::string where;
};

/// An attention of the decoder to the encoder.
struct CrossAttention {
  std::string path;    ///< its module path
  std::string pointer; ///< its place in the file
  CrossProjection key, value;
  std::string cache; ///< the symbol of what `source` fills
  attn::CacheType type;
};

/// The source of one encoder-decoder. Errors are the emitter's.
class GraphSource {
public:
  GraphSource(Emitter &emit, const Graph &encoder)
      : emit(emit), encoder(encoder) {}

  /// Refuses names of entries that the runtime or another entry has, and
  /// reserves the name `source`.
  void checkEntries(const Graph &decoder);
  /// Refuses inputs other than the ids and mask of a batch.
  void checkInputs(llvm::ArrayRef<EntryInput> inputs);
  /// The encoder's entry has ended with these results.
  void setStates(llvm::ArrayRef<mlir::Value> results);

  /// The width of a state.
  int64_t width() const { return *states.back().constant(); }
  /// The longest source, where the encoder has a limit.
  std::optional<int64_t> longest() const;
  /// Declares the cache of an attention, and gives it as an operand of the
  /// step.
  mlir::Value addAttention(CrossAttention attention);

  /// Builds the entry that fills the caches of all attentions.
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
