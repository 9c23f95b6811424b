// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts a call to a oneDNN primitive. Only this code depends on differences
// between the oneDNN 2 and 3 C++ interfaces. These functions throw dnnl::error.
#pragma once
#include "runtime/abi/OneDnn.h"
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace transom {

/// A primitive and its run-time parameters. Immutable, shared by threads.
struct Primitive {
  dnnl::primitive run;
  dnnl::memory::desc input, rhs, residual, out, bias, scratchpad;
  /// The weight layout that a matmul requests; for others the layout in the
  /// artifact.
  dnnl::memory::desc weights;
  /// The residual is the previous contents of `out`.
  bool sums = false;
};

/// Creates the primitive for a call; of data pointers it only checks whether
/// they are null and whether they are equal.
Primitive makePrimitive(const dnnl::engine &engine,
                        const transom_onednn_call &call);

/// The artifact's layout for a matmul's weights.
dnnl::memory::desc storedWeights(const transom_onednn_call &call);

/// Product of all dimensions except for the last.
int64_t getRowCount(const transom_onednn_tensor &tensor);
/// The last dimension.
int64_t getColumnCount(const transom_onednn_tensor &tensor);

} // namespace transom
