// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention with masks, windows, groups of heads.
#include "test/compiler/evaluator/OperationCases.h"
#include <gtest/gtest.h>

using namespace transom::testing;

TEST(EvaluateAttention, computes_what_torch_computes) {
  runOperationCases(OperationGroup::Attention);
}
