// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters of a Hugging Face model by module: the file tensor that holds a
// module's parameter, its symbol and its location. All blocks use it.
#pragma once
#include "compiler/import/Emitter.h"
#include "compiler/import/huggingface/Config.h"
#include <functional>

namespace transom {

/// A low-rank adapter: A [rank, in] and B [out, rank], or for embedding tables
/// [entries, rank] and [rank, width]; stored together with the adapters for all
/// tasks.
struct Adapter {
  int64_t task, tasks;
  int64_t rank;
  double scale; ///< factor for the product added to a weight
};

/// Module names in one model.
struct ModuleNaming {
  std::string prefix; ///< base model tensor prefix under a head: `bert.`
  /// Base model modules; their first path components have the prefix.
  std::vector<std::string> baseModules;
  /// Tensors of which every base model has one; they determine whether tensors
  /// have the prefix.
  std::vector<std::string> knownTensors;
  bool bare = false; ///< no head: locations carry no prefix
  std::optional<Adapter> adapter = std::nullopt; ///< merged into weights
};

/// Finds parameters and sets locations. Errors are recorded in the emitter.
class Parameters {
public:
  Parameters(Emitter &emit, const ModelFiles &files,
             const ModuleNaming &naming);

  /// Sets the location for subsequent operations: this module, and the config
  /// key (or JSON pointer) that requested it.
  void at(const std::string &module, const ConfigKey &key);
  void at(const std::string &module, const std::string &pointer);
  /// The module's path as Hugging Face prints it.
  std::string getModulePath(const std::string &module) const;

  /// Returns the tensor for a module's parameter: with or without the base
  /// model prefix, by its new or old name, or by the name that torch
  /// parametrization uses. `found` is set to whether the files have it.
  std::string getTensorName(const std::string &module, const std::string &name,
                            bool *found = nullptr) const;
  /// Returns true for a base model module, false for a head module.
  bool inBase(const std::string &module) const;
  /// Returns true if the files have the parameter.
  bool has(const std::string &module, const std::string &name) const;

  /// Returns a parameter with this shape as a weight; `sizes` explains the
  /// shape.
  mlir::Value get(const std::string &module, const std::string &name,
                  std::vector<int64_t> shape, const std::string &sizes);
  /// Returns the result that `derive` computes from a parameter with this
  /// shape, as a weight whose symbol ends in `suffix`.
  mlir::Value getDerived(const std::string &module, const std::string &name,
                         std::vector<int64_t> shape, const std::string &sizes,
                         const std::string &suffix,
                         const std::function<WeightExpr(WeightExpr)> &derive);

private:
  /// Returns a tensor with this shape after merging its adapter.
  WeightExpr merge(const std::string &tensor,
                   const std::vector<int64_t> &shape);

  Emitter &emit;
  const ModelFiles &files;
  std::string prefix, locationPrefix;
  std::set<std::string> tops; // first path components of base model modules
  bool prefixed;              // the files' tensors carry the prefix
  std::optional<Adapter> adapter;
};

} // namespace transom
