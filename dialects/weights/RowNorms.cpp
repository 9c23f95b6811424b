// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unknown norms are negative; a NaN is a known norm.
#include "dialects/weights/RowNorms.h"
#include <algorithm>

namespace transom {

bool RowNorms::find(const TensorSource *source, int64_t begin, int64_t count,
                    double *out) const {
  const std::lock_guard<std::mutex> lock(mutex);
  if (source != known)
    return false;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = norms[begin + i];
    if (out[i] < 0)
      return false;
  }
  return true;
}

void RowNorms::add(const TensorSource *source, int64_t rows, int64_t begin,
                   const std::vector<double> &added) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (source != known)
    norms.assign(static_cast<size_t>(rows), -1.0);
  known = source;
  std::copy(added.begin(), added.end(), norms.begin() + begin);
}

} // namespace transom
