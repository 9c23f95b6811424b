// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module as text beside a table of its operations: which lines an operation
// has, where in the model it comes from and whose results it reads. Viewers of
// IR need no parser of MLIR then.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "runtime/json/Json.h"
#include <string>
#include <vector>

namespace transom {

/// One operation of a listing.
struct ListedOperation {
  unsigned line = 0;    ///< the first of its lines, from 0
  std::string name;     ///< `attn.linear`
  std::string location; ///< the module path; empty where it is unknown
  /// Files and JSON pointers that describe it: `config.json: /hidden_size`.
  std::vector<std::string> origins;
  int parent = -1; ///< the index of the operation around it
  /// Indices of the operations whose results it reads, ascending. What reads a
  /// buffer depends on the operation that wrote the buffer last.
  std::vector<int> operands;
};

/// A module for viewers.
struct ModuleListing {
  /// Without locations and remarks; lines are wrapped as `--emit` wraps them.
  std::string text;
  /// In the order of the text; the first one is the module.
  std::vector<ListedOperation> operations;
};

/// Lists a module, which is not changed.
ModuleListing listModule(mlir::ModuleOp module);

/// Writes an object with `text`, the tables `names`, `locations` and `origins`,
/// and `operations`, each `[line, name, location, [origins], parent,
/// [operands]]` with indices into the tables.
void writeListing(JsonWriter &json, const ModuleListing &listing);

} // namespace transom
