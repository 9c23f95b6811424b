// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn operations against torch's results in float64 (test/goldens/evaluator,
// made by tools/dev/goldens/make-evaluator-goldens.py).
#pragma once

namespace transom::testing {

/// Operations by the evaluator source that computes them.
enum class OperationGroup { Attention, Elementwise, Products, Ragged, Shapes };

/// Runs the cases in a group.
void runOperationCases(OperationGroup group);

} // namespace transom::testing
