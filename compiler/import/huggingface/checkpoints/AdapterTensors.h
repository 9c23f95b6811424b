// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors of a PEFT adapter by the modules that they change.
#pragma once
#include "compiler/safetensors/Safetensors.h"
#include <map>
#include <string>
#include <vector>

namespace transom {

/// A parameter of a module that an adapter has as a whole.
struct WholeTensor {
  std::string name; ///< in the model's files
  std::string module, parameter;
};

/// What an adapter adds to a module: names in the model's files, empty for what
/// it does not have.
struct ModuleChange {
  std::string a, b; ///< the factors
  bool isTable = false;
  std::string magnitude; ///< the norms of the rows (DoRA)
  std::string bias;      ///< of the product
  std::string tokens;    ///< rows of a table

  bool hasFactors() const { return !(a + b + magnitude + bias).empty(); }
  const std::string &getAny() const {
    return !magnitude.empty() ? magnitude : bias;
  }
};

/// All tensors of an adapter.
struct AdapterTensors {
  std::vector<WholeTensor> wholes;
  std::map<std::string, ModuleChange> modules;

  /// Whether the adapter changes a parameter, `lm_head.weight`.
  bool changes(const std::string &parameter) const;
  /// Whether it replaces rows of a table, by any spelling of its name.
  bool replacesRows(const std::string &parameter) const;
};

/// Adds the tensors of an adapter's folder to the files of a model. An error
/// for a tensor of a kind that no adapter has.
Result<AdapterTensors> readAdapterTensors(ModelFiles &files,
                                          const std::string &folder);

/// An error of a tensor by its name in the model's files.
Error getAdapterError(const std::string &folder, const std::string &name,
                      const std::string &text,
                      Status status = Status::Rejected);

/// A table [count, width] with the rows of `ids` replaced by those of a tensor.
WeightExpr replaceRows(const WeightExpr &table, int64_t count,
                       const std::string &rows,
                       const std::vector<int64_t> &ids);

} // namespace transom
