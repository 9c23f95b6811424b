// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verdicts on passes, and operation errors in machine code, as part of an
// explanation.
#pragma once
#include "compiler/explain/Explanation.h"
#include "compiler/verify/Certificate.h"
#include "compiler/verify/CodeVerification.h"

namespace transom {
struct VerifyOptions;
} // namespace transom

namespace transom::tools {

/// Checks the passes in a compile as `verify MODEL` does, and its machine code
/// as `verify MODEL.so` does, and adds the results to its explanation. `how`
/// contains the options for the pass check. Only passes are checked without
/// weights, or if the code does not run on this host.
Result<void> addVerification(const CompileOptions &options,
                             const VerifyOptions &how,
                             Explanation &explanation);

/// Returns an error with status `CheckFailed` if a check found a difference.
Result<void> checkVerification(const Explanation &explanation);

/// Sets the verdict for each pass. Fails with `Internal` if the certificate and
/// the explanation list different passes.
Result<void> setVerdicts(const Certificate &certificate,
                         Explanation &explanation);

/// Sets the errors for each operation. Fails with `Internal` if the code and
/// the explanation list different operations.
Result<void> setErrors(const CodeVerification &code, Explanation &explanation);

/// Returns the largest relative error, `2.3e-07`; `no number` if only one side
/// is a NaN, empty if nothing was measured.
std::string formatLargestError(const std::vector<PhaseOperation> &operations);

/// Describes the checks; empty without a verification.
std::string describeVerification(const Explanation &explanation);

} // namespace transom::tools
