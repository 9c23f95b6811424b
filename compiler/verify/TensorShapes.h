// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors of a model's files without their numbers: a check in residues
// reads none.
#pragma once
#include "dialects/weights/WeightExpr.h"
#include <map>

namespace transom {

/// Shapes of tensors by name.
class TensorShapes : public TensorSource {
public:
  using Map = std::map<std::string, std::vector<int64_t>>;

  /// `shapes` outlives this.
  explicit TensorShapes(const Map &shapes) : shapes(shapes) {}

  Result<std::vector<int64_t>> shape(const std::string &name) const override {
    auto found = shapes.find(name);
    if (found == shapes.end())
      return rejected("no shape of tensor '" + name + "' is known");
    return found->second;
  }
  Result<void> read(const std::string &name, const std::vector<int64_t> &,
                    const std::vector<int64_t> &, float *) const override {
    return internalError("a check in residues reads tensor '" + name + "'");
  }

private:
  const Map &shapes;
};

} // namespace transom
