// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of golden folders, and the comparison of results with them.
#pragma once
#include "compiler/evaluator/ReadTensors.h"
#include "test/compiler/import/Fixture.h"
#include <cmath>

namespace transom::testing {

/// Reads the tensors of a safetensors file for the evaluator.
inline std::vector<NamedTensor> readTensors(const std::string &folder,
                                            const std::string &name) {
  auto tensors = transom::readTensors(folder + "/" + name);
  EXPECT_TRUE(tensors) << (tensors ? "" : tensors.error().message);
  return tensors ? std::move(*tensors) : std::vector<NamedTensor>();
}

/// Expects a result of that name with these numbers, up to `allowed` and 1e-6
/// of each.
inline void expectNear(const NamedTensor &expectedTensor,
                       const std::vector<NamedTensor> &results,
                       double allowed) {
  for (const NamedTensor &result : results) {
    if (result.name != expectedTensor.name)
      continue;
    ASSERT_EQ(result.tensor.sizes, expectedTensor.tensor.sizes)
        << expectedTensor.name;
    double worst = 0;
    for (int64_t i = 0; i < expectedTensor.tensor.count(); ++i) {
      double error = std::fabs(result.tensor.getReal(i) -
                               expectedTensor.tensor.getReal(i));
      ASSERT_TRUE(std::isfinite(error)) << expectedTensor.name << " at " << i;
      worst = std::max(
          worst, error - 1e-6 * std::fabs(expectedTensor.tensor.getReal(i)));
    }
    EXPECT_LE(worst, allowed) << expectedTensor.name;
    return;
  }
  FAIL() << "no result '" << expectedTensor.name << "'";
}

} // namespace transom::testing
