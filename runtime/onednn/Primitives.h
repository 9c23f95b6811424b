// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a call to a primitive of oneDNN: the one place where the versions 2 and
// 3 of its C++ interface differ. These throw dnnl::error, as it does.
#pragma once
#include "runtime/abi/OneDnn.h"
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace transom {

/// A primitive with what is needed to run it. Immutable, shared by threads.
struct Primitive {
  dnnl::primitive run;
  dnnl::memory::desc input, rhs, residual, out, bias, scratchpad;
  /// How a matmul wants its weights; the others' as they lie.
  dnnl::memory::desc weights;
  /// The residual is what `out` holds before the call.
  bool sums = false;
};

/// Makes the primitive of a call; data pointers count only by whether they are
/// there and equal.
Primitive makePrimitive(const dnnl::engine &engine,
                        const transom_onednn_call &call);

/// The layout in which a matmul's weights lie in the artifact.
dnnl::memory::desc storedWeights(const transom_onednn_call &call);

/// Product of all dimensions but the last.
int64_t getRowCount(const transom_onednn_tensor &tensor);
/// The last dimension.
int64_t getColumnCount(const transom_onednn_tensor &tensor);

} // namespace transom
