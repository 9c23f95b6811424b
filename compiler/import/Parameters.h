// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameters of a Hugging Face model by module: the tensor of the files
// that holds a module's parameter, its symbol and its location. All blocks use
// it.
#pragma once
#include "compiler/import/Emitter.h"
#include "compiler/import/huggingface/Config.h"
#include <functional>

namespace transom {

/// An adapter of low rank: A of [rank, in] and B of [out, rank], of a table of
/// embeddings [entries, rank] and [rank, width], among those of all tasks.
struct Adapter {
  int64_t task, tasks;
  int64_t rank;
  double scale; ///< of the product that is added to a weight
};

/// The names of the modules of one model.
struct ModuleNaming {
  std::string prefix; ///< of the base model's tensors under a head: `bert.`
  /// Modules of the base model; their first words are what has the prefix.
  std::vector<std::string> baseModules;
  /// Tensors of which every base model has one; tell if tensors carry the
  /// prefix.
  std::vector<std::string> knownTensors;
  bool bare = false; ///< no head: locations carry no prefix
  std::optional<Adapter> adapter = std::nullopt; ///< merged into weights
};

/// Finds parameters and sets locations. Errors are the emitter's.
class Parameters {
public:
  Parameters(Emitter &emit, const ModelFiles &files,
             const ModuleNaming &naming);

  /// Operations from now on belong to this module, and were asked for by this
  /// key of the config (or JSON pointer).
  void at(const std::string &module, const ConfigKey &key);
  void at(const std::string &module, const std::string &pointer);
  /// The module's path as Hugging Face prints it.
  std::string getModulePath(const std::string &module) const;

  /// The tensor of a module's parameter: under the base model's prefix or
  /// without it, under its new or old name, or under that of what torch
  /// parametrizes. `found` says if the files have it.
  std::string getTensorName(const std::string &module, const std::string &name,
                            bool *found = nullptr) const;
  /// True for a module of the base model, false for one of a head.
  bool inBase(const std::string &module) const;
  /// True when the files have the parameter.
  bool has(const std::string &module, const std::string &name) const;

  /// A parameter of that shape as a weight; `sizes` explains the shape.
  mlir::Value get(const std::string &module, const std::string &name,
                  std::vector<int64_t> shape, const std::string &sizes);
  /// What `derive` computes from a parameter of that shape, as a weight whose
  /// symbol ends in `suffix`.
  mlir::Value getDerived(const std::string &module, const std::string &name,
                         std::vector<int64_t> shape, const std::string &sizes,
                         const std::string &suffix,
                         const std::function<WeightExpr(WeightExpr)> &derive);

private:
  /// A tensor of that shape, with the adapter beside it merged.
  WeightExpr merge(const std::string &tensor,
                   const std::vector<int64_t> &shape);

  Emitter &emit;
  const ModelFiles &files;
  std::string prefix, locationPrefix;
  std::set<std::string> tops; // first words of the base model's modules
  bool prefixed;              // the files' tensors carry the prefix
  std::optional<Adapter> adapter;
};

} // namespace transom
