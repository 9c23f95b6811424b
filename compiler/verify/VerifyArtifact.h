// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the machine code in an artifact: evaluates each phase in its kern
// module on the machine's memory before the phase, and compares the result with
// the memory after it.
#pragma once
#include "compiler/options/CompileOptions.h"
#include "compiler/verify/ArtifactStepper.h"
#include "compiler/verify/CodeVerification.h"

namespace transom {

/// Compiles `options.model` up to the stage `kern` and checks an artifact that
/// was compiled from it with these options. `Usage` for another model,
/// `Rejected` for an artifact whose dispatches or buffers differ from the
/// module.
Result<CodeVerification> verifyArtifact(const CompileOptions &options,
                                        ArtifactStepper &stepper);

} // namespace transom
