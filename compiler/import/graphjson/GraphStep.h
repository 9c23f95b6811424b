// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph.json with caches as a decoder step: its entry, the constraints on row
// operations, and the location where requested rows are gathered.
#pragma once
#include "compiler/import/graphjson/GraphOps.h"

namespace transom {

/// The step of one graph; no effect on a graph without caches. Errors are
/// recorded in the emitter.
class GraphStep {
public:
  GraphStep(Emitter &emit, const Graph &graph, const DimTable &dims)
      : emit(emit), graph(graph), dims(dims) {}

  /// Begins the entry; returns the new tokens, i64 [rows].
  mlir::Value begin();
  /// Rejects node results that mix rows.
  void checkRows(llvm::ArrayRef<mlir::Value> inputs,
                 llvm::ArrayRef<mlir::Value> results, const GraphNode &node);
  /// Ends the entry with the graph's outputs.
  void end(llvm::ArrayRef<mlir::Value> results);
  /// Head name in the manifest.
  const char *head() const { return causal ? "causal_lm" : "none"; }

  StepState state;

private:
  /// Rejects an encoder-decoder's decoder that the runtime cannot run.
  void checkTarget(JsonValue output);
  /// Gathers the rows whose logits are requested, before the operations that
  /// compute each row independently.
  mlir::Value gatherLogitRows(mlir::Value result);

  Emitter &emit;
  const Graph &graph;
  const DimTable &dims;
  mlir::Value logitTokens; // i64 [wanted]: rows whose logits are computed
  bool causal = false;     // the result width is the vocabulary size
};

} // namespace transom
