// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors in golden folders, and result comparison.
#pragma once
#include "compiler/evaluator/ReadTensors.h"
#include "test/compiler/import/Fixture.h"
#include <cmath>

namespace transom::testing {

/// Reads the tensors in a safetensors file for the evaluator.
inline std::vector<NamedTensor> readTensors(const std::string &folder,
                                            const std::string &name) {
  auto tensors = transom::readTensors(folder + "/" + name);
  EXPECT_TRUE(tensors) << (tensors ? "" : tensors.error().message);
  return tensors ? std::move(*tensors) : std::vector<NamedTensor>();
}

/// Expects a result with that name and these values, up to `allowed` plus 1e-6
/// relative.
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
