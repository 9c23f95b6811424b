// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verdicts on passes, and errors of operations in machine code, as part of an
// explanation.
#pragma once
#include "compiler/explain/Explanation.h"
#include "compiler/verify/Certificate.h"
#include "compiler/verify/CodeVerification.h"

namespace transom {
struct VerifyOptions;
} // namespace transom

namespace transom::tools {

/// Checks the passes of a compile as `verify MODEL` does, and its machine code
/// as `verify MODEL.so` does, and adds what was found to the explanation of
/// that compile; `how` has the options of the check of passes. Without weights,
/// or where the code does not run here, only the passes are checked.
Result<void> addVerification(const CompileOptions &options,
                             const VerifyOptions &how,
                             Explanation &explanation);

/// The error of what was found, with status `CheckFailed`.
Result<void> checkVerification(const Explanation &explanation);

/// Gives each pass its verdict. `Internal` if passes of the certificate are not
/// those of the explanation.
Result<void> setVerdicts(const Certificate &certificate,
                         Explanation &explanation);

/// Gives each operation its errors. `Internal` if operations of the code are
/// not those of the explanation.
Result<void> setErrors(const CodeVerification &code, Explanation &explanation);

/// The largest relative error of some operations, `2.3e-07`; `no number` where
/// one side alone is a NaN, empty where nothing was measured.
std::string formatLargestError(const std::vector<PhaseOperation> &operations);

/// A section on what was checked; empty without a verification.
std::string describeVerification(const Explanation &explanation);

} // namespace transom::tools
