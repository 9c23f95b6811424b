// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles with a certificate for all passes in the manifest.
#pragma once
#include "compiler/driver/Compile.h"

namespace transom {

/// Compiles a model. With `options.certify` all passes are verified first, and
/// the certificate is written into the manifest. Errors: `CheckFailed` if a
/// pass changes the model, `Usage` together with `resumeFrom`.
Result<CompileReport> compileCertified(const CompileOptions &options);

} // namespace transom
