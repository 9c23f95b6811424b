// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of what runs in a call: its phases, and the operations of each
// phase.
#pragma once
#include "tools/commands/explain/Profile.h"

namespace transom::tools {

/// A row for each phase that has a part in the FLOP, the bytes or the measured
/// time of a call, or with `all` for each phase. `call` is null without
/// measured times; with `isVerified` there is a column of errors.
std::string listPhases(const ExplainedEntry &entry, const MeasuredCall *call,
                       bool isVerified, bool all);

/// A row for each operation of each phase.
std::string listOperations(const ExplainedEntry &entry, bool isVerified);

} // namespace transom::tools
