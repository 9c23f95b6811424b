// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model as a graph to look at: operations, what flows between them, and
// layers as groups, of which equal ones are one. No header of LLVM comes along.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace transom {

/// What a node is, which decides its colour.
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
  std::string detail; ///< where it is in its group: `intermediate.dense`
  int64_t group = 0;
};

/// A value that one node makes and another reads.
struct DrawnEdge {
  int64_t from = 0, to = 0;
  std::string shape; ///< `[batch, seq, 768]`; empty: no tensor
};

/// Nodes that are drawn in a box.
struct DrawnGroup {
  std::string title;   ///< `encoder.layer`, or the name of an entry
  std::string repeats; ///< `x 12`; empty: once
  int64_t parent = -1; ///< -1: the whole model
};

/// A model. Group 0 is all of it.
struct ModelGraph {
  std::vector<DrawnGroup> groups;
  std::vector<DrawnNode> nodes;
  std::vector<DrawnEdge> edges;
};

} // namespace transom
