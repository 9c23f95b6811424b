// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Details for importer errors beyond the location: expected sizes and the keys
// that determine them.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// One size in an expected shape.
struct ExpectedSize {
  int64_t size;
  /// Its name, or a product or sum: `heads * head size`. Empty: unknown.
  std::string words;
};

/// A tensor problem.
struct TensorProblem {
  /// The expected sizes that the tensor does not have.
  std::vector<ExpectedSize> sizes;
  /// Its layer, if the files have no tensor in this layer.
  std::optional<int64_t> missingLayer;
};

/// Returns a tensor error's suffix: `; see config.json:3:18: '/hidden_size'`,
/// or empty.
using TensorHelp = std::function<std::string(const TensorProblem &)>;

/// Returns the divisor nearest to `number`; the larger one if two are equally
/// near.
int64_t getNearestDivisor(int64_t number, int64_t of);

} // namespace transom
