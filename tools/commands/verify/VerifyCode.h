// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom verify MODEL.so: the machine code of an artifact against its kern
// module.
#pragma once
#include "tools/commands/Command.h"
#include "tools/commands/verify/MachineStepper.h"

namespace transom::tools {

/// The flags of the command.
struct CodeFlags {
  std::string artifact;
  std::string model;      ///< what it was compiled from
  StepperOptions options; ///< without lengths the default ones are taken
};

/// Steps the machine code and prints the report; an error if bits differ.
Result<void> verifyCode(CodeFlags flags, const CommonFlags &common);

} // namespace transom::tools
