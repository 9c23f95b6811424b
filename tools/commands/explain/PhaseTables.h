// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of the phases in a call, and the operations in each phase.
#pragma once
#include "tools/commands/explain/Profile.h"

namespace transom::tools {

/// Lists each phase with a significant share in FLOP, bytes or measured time,
/// or all phases with `all`. `call` is null without measured times;
/// `isVerified` adds an error column.
std::string listPhases(const ExplainedEntry &entry, const MeasuredCall *call,
                       bool isVerified, bool all);

/// Lists each operation in each phase.
std::string listOperations(const ExplainedEntry &entry, bool isVerified);

} // namespace transom::tools
