// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the machine code of an artifact: each phase of its kern module is
// evaluated on the memory that the machine has before the phase, and compared
// with what it has after.
#pragma once
#include "compiler/options/CompileOptions.h"
#include "compiler/verify/ArtifactStepper.h"
#include "compiler/verify/CodeVerification.h"

namespace transom {

/// Compiles `options.model` up to the stage `kern` and checks an artifact that
/// was compiled from it with these options. `Usage` for another model,
/// `Rejected` for an artifact whose dispatches or buffers are not those of the
/// module.
Result<CodeVerification> verifyArtifact(const CompileOptions &options,
                                        ArtifactStepper &stepper);

} // namespace transom
