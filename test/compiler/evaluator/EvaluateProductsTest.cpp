// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products, norms and softmax.
#include "test/compiler/evaluator/OperationCases.h"
#include <gtest/gtest.h>

using namespace transom::testing;

TEST(EvaluateProducts, computes_what_torch_computes) {
  runOperationCases(OperationGroup::Products);
}
