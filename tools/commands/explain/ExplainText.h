// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An explanation as text for a terminal.
#pragma once
#include "tools/commands/explain/Profile.h"

namespace transom::tools {

/// Summarizes a compile in about one screen; with `all`, lists every remark,
/// phase, kernel and buffer.
std::string toText(const MeasuredCompile &compile, bool all);

} // namespace transom::tools
