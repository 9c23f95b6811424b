// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File tensor shapes without elements: a check in residues does not read
// elements.
#pragma once
#include "dialects/weights/WeightExpr.h"
#include <map>

namespace transom {

/// Tensor shapes by name.
class TensorShapes : public TensorSource {
public:
  using Map = std::map<std::string, std::vector<int64_t>>;

  /// `shapes` must outlive this object.
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
