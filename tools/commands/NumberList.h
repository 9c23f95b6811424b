// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Number lists on the command line, for layers and heads.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace transom::tools {

/// Parses a list such as `0,2-5`. Numbers are below 1,000,000; the result is
/// sorted without duplicates, and empty for an empty list. Fails with `Usage`
/// and the flag's name for other strings.
Result<std::vector<int64_t>> parseNumberList(const std::string &flag,
                                             const std::string &list);

/// Parses a layer list such as `0,-1` in its order; negative numbers count from
/// the end. Fails with `Usage` and the flag's name for other strings.
Result<std::vector<int64_t>> parseLayerList(const std::string &flag,
                                            const std::string &list);

} // namespace transom::tools
