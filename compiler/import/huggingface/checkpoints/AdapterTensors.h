// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PEFT adapter tensors, grouped by the modules that they change.
#pragma once
#include "compiler/safetensors/Safetensors.h"
#include <map>
#include <string>
#include <vector>

namespace transom {

/// A parameter that an adapter replaces as a whole.
struct WholeTensor {
  std::string name; ///< name in the model's files
  std::string module, parameter;
};

/// Adapter tensors for a module: names in the model's files, empty if absent.
struct ModuleChange {
  std::string a, b; ///< low-rank factors
  bool isTable = false;
  std::string magnitude; ///< row norms (DoRA)
  std::string bias;      ///< bias for the product
  std::string tokens;    ///< replaced table rows

  bool hasFactors() const { return !(a + b + magnitude + bias).empty(); }
  const std::string &getAny() const {
    return !magnitude.empty() ? magnitude : bias;
  }
};

/// All tensors in an adapter.
struct AdapterTensors {
  std::vector<WholeTensor> wholes;
  std::map<std::string, ModuleChange> modules;

  /// Returns true if the adapter changes a parameter, `lm_head.weight`.
  bool changes(const std::string &parameter) const;
  /// Returns true if it replaces rows of a table, by any spelling of its name.
  bool replacesRows(const std::string &parameter) const;
};

/// Adds the tensors in an adapter folder to a model's files. Returns an error
/// for a tensor kind that adapters do not have.
Result<AdapterTensors> readAdapterTensors(ModelFiles &files,
                                          const std::string &folder);

/// Returns an error for a tensor, given by its name in the model's files.
Error getAdapterError(const std::string &folder, const std::string &name,
                      const std::string &text,
                      Status status = Status::Rejected);

/// Returns a table [count, width] whose rows `ids` are replaced by a tensor.
WeightExpr replaceRows(const WeightExpr &table, int64_t count,
                       const std::string &rows,
                       const std::vector<int64_t> &ids);

} // namespace transom
