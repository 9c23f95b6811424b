// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph.json with caches as the step of a decoder: its entry, what its
// operations may do with rows, and where the rows that are asked for are taken.
#pragma once
#include "compiler/import/graphjson/GraphOps.h"

namespace transom {

/// The step of one graph; without effect on a graph without caches. Errors are
/// the emitter's.
class GraphStep {
public:
  GraphStep(Emitter &emit, const Graph &graph, const DimTable &dims)
      : emit(emit), graph(graph), dims(dims) {}

  /// Begins the entry; gives the new tokens, i64 [rows].
  mlir::Value begin();
  /// Refuses results of a node that mix rows.
  void checkRows(llvm::ArrayRef<mlir::Value> inputs,
                 llvm::ArrayRef<mlir::Value> results, const GraphNode &node);
  /// Ends the entry with the graph's outputs.
  void end(llvm::ArrayRef<mlir::Value> results);
  /// The manifest's word for the head.
  const char *head() const { return causal ? "causal_lm" : "none"; }

  StepState state;

private:
  /// Refuses a decoder of an encoder-decoder that the runtime cannot run.
  void checkTarget(JsonValue output);
  /// The rows of a result whose logits the caller needs, gathered before the
  /// operations that compute each row alone.
  mlir::Value gatherLogitRows(mlir::Value result);

  Emitter &emit;
  const Graph &graph;
  const DimTable &dims;
  mlir::Value logitTokens; // i64 [wanted]: rows whose logits are computed
  bool causal = false;     // the result is as wide as the vocabulary
};

} // namespace transom
