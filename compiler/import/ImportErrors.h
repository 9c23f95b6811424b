// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What errors of the importers say besides the place: what would be right.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// A size of an expected shape.
struct ExpectedSize {
  int64_t size;
  /// Its name, or a product or sum of names: `heads * head size`. Empty:
  /// unknown.
  std::string words;
};

/// What is wrong with a tensor.
struct TensorProblem {
  /// The sizes that it does not have and should.
  std::vector<ExpectedSize> sizes;
  /// Its layer, if the files have no tensor of this layer.
  std::optional<int64_t> missingLayer;
};

/// Ends the error of a tensor: `; see config.json:3:18: '/hidden_size'`, or
/// empty.
using TensorHelp = std::function<std::string(const TensorProblem &)>;

/// The divisor of `of` that is nearest to a number; of two the larger one.
int64_t getNearestDivisor(int64_t number, int64_t of);

} // namespace transom
