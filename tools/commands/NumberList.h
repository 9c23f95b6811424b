// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of numbers on the command line, as of layers and heads.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace transom::tools {

/// The numbers of a list such as `0,2-5`, ascending, each once; none for an
/// empty list. They are below 1,000,000. `Usage` with the flag's name for
/// anything else.
Result<std::vector<int64_t>> parseNumberList(const std::string &flag,
                                             const std::string &list);

/// The numbers of a list of layers such as `0,-1`, in its order; those below 0
/// count from the end on. `Usage` with the flag's name for anything else.
Result<std::vector<int64_t>> parseLayerList(const std::string &flag,
                                            const std::string &list);

} // namespace transom::tools
