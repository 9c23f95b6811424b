// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module as text with a table of its operations: lines, model locations and
// operands. With it, IR viewers need no MLIR parser.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "runtime/json/Json.h"
#include <string>
#include <vector>

namespace transom {

/// One operation in a listing.
struct ListedOperation {
  unsigned line = 0;    ///< its first line, from 0
  std::string name;     ///< `attn.linear`
  std::string location; ///< the module path; empty if unknown
  /// The files and JSON pointers it originates from: `config.json:
  /// /hidden_size`.
  std::vector<std::string> origins;
  int parent = -1; ///< index of the parent operation
  /// Indices of the operations whose results it reads, ascending. A buffer read
  /// depends on the operation that wrote the buffer last.
  std::vector<int> operands;
};

/// A module for viewers.
struct ModuleListing {
  /// Without locations and remarks; lines are wrapped as in `--emit`.
  std::string text;
  /// In text order; the first one is the module.
  std::vector<ListedOperation> operations;
};

/// Lists a module, which is not changed.
ModuleListing listModule(mlir::ModuleOp module);

/// Writes an object with `text`, the tables `names`, `locations` and `origins`,
/// and `operations`, each `[line, name, location, [origins], parent,
/// [operands]]` with indices into the tables.
void writeListing(JsonWriter &json, const ModuleListing &listing);

} // namespace transom
