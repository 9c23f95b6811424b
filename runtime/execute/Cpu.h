// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host capabilities: which of an artifact's instruction sets run here, and how
// many cores this process may use.
#pragma once
#include "runtime/base/Error.h"
#include <string>
#include <vector>

namespace transom {

/// Returns the index in `available` (an artifact's instruction sets) to use:
/// `forced` if not empty, else the strongest that runs here. Errors are
/// `Unsupported` and begin with `name`.
Result<size_t> chooseIsa(const std::vector<std::string> &available,
                         const std::string &forced, const std::string &name);

/// Physical cores in this thread's affinity mask, at most the cgroup's quota;
/// at least 1.
unsigned usableCores();

/// Logical CPUs in this thread's affinity mask; at least 1.
unsigned usableCpus();

} // namespace transom
