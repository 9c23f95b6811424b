// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much an error of each column of a weight counts.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace transom {

/// By file tensor, for each number along K of the products that it is a weight
/// of, the mean square of what it is multiplied by.
class Importance {
public:
  /// Sets that of a tensor.
  void set(const std::string &tensor, std::vector<float> squares) {
    byTensor[tensor] = std::move(squares);
  }
  bool empty() const { return byTensor.empty(); }
  /// That of a tensor, null without one.
  const std::vector<float> *find(const std::string &tensor) const {
    auto found = byTensor.find(tensor);
    return found == byTensor.end() ? nullptr : &found->second;
  }
  /// That of a weight made of these tensors, of which the first one that has as
  /// many numbers counts; null without one.
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
