// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model as a graph for drawing: operations, data flow, and layers as groups,
// with equal layers merged. The header needs no LLVM.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace transom {

/// The node kind, which determines its colour.
enum class DrawnKind {
  Input,
  Output,
  Embedding,
  Product, ///< with a weight
  Attention,
  Norm,
  Activation,
  Other
};

/// An operation, an argument or a result.
struct DrawnNode {
  DrawnKind kind = DrawnKind::Other;
  std::string title;  ///< `linear 768 x 3072`
  std::string detail; ///< its path in the group: `intermediate.dense`
  int64_t group = 0;
};

/// A value that one node produces and another reads.
struct DrawnEdge {
  int64_t from = 0, to = 0;
  std::string shape; ///< `[batch, seq, 768]`; empty: not a tensor
};

/// Nodes drawn in a box.
struct DrawnGroup {
  std::string title;   ///< `encoder.layer`, or the name of an entry
  std::string repeats; ///< `x 12`; empty: once
  int64_t parent = -1; ///< -1: the whole model
};

/// A model. Group 0 is the whole model.
struct ModelGraph {
  std::vector<DrawnGroup> groups;
  std::vector<DrawnNode> nodes;
  std::vector<DrawnEdge> edges;
};

} // namespace transom
