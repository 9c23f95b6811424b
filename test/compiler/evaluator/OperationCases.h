// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of the attn dialect against what torch computed in float64
// (test/goldens/evaluator, made by
// tools/dev/goldens/make-evaluator-goldens.py).
#pragma once

namespace transom::testing {

/// The operations by the source of the evaluator that computes them.
enum class OperationGroup { Attention, Elementwise, Products, Ragged, Shapes };

/// Runs the cases of a group.
void runOperationCases(OperationGroup group);

} // namespace transom::testing
