// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom verify MODEL.so: compares an artifact's machine code with its kern
// module.
#pragma once
#include "tools/commands/Command.h"
#include "tools/commands/verify/MachineStepper.h"

namespace transom::tools {

/// The command's flags.
struct CodeFlags {
  std::string artifact;
  std::string model;      ///< the model that it was compiled from
  StepperOptions options; ///< default lengths are used if none are given
};

/// Steps through the machine code and prints the report; fails if bits differ.
Result<void> verifyCode(CodeFlags flags, const CommonFlags &common);

} // namespace transom::tools
