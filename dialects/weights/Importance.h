// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Importance (imatrix): how much an error in each weight column counts.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace transom {

/// By file tensor, for each element along K in GEMMs with this weight, the mean
/// square of the other operand's values.
class Importance {
public:
  /// Sets a tensor's importance.
  void set(const std::string &tensor, std::vector<float> squares) {
    byTensor[tensor] = std::move(squares);
  }
  bool empty() const { return byTensor.empty(); }
  /// Returns a tensor's importance, or null.
  const std::vector<float> *find(const std::string &tensor) const {
    auto found = byTensor.find(tensor);
    return found == byTensor.end() ? nullptr : &found->second;
  }
  /// Returns the importance for a weight made from these tensors: from the
  /// first tensor with `depth` values, or null.
  const float *find(const std::vector<std::string> &tensors,
                    int64_t depth) const {
    for (const std::string &tensor : tensors)
      if (const std::vector<float> *found = find(tensor);
          found && int64_t(found->size()) == depth)
        return found->data();
    return nullptr;
  }

private:
  std::map<std::string, std::vector<float>> byTensor;
};

} // namespace transom
