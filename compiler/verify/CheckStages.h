// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks a certificate again, from the modules of the stages alone: no pass
// runs, and the program needs none.
#pragma once
#include "compiler/verify/Certificate.h"

namespace transom {

/// The file of a certificate beside its stages.
inline constexpr const char *certificateFile = "certificate.json";
/// The file of a stage: `kern.mlir`.
std::string getCheckedStageFile(const std::string &stage);
/// The text that keys are derived from: the sha256 of the version and of the
/// texts of all stages, in order.
std::string deriveKey(const std::string &version,
                      const std::vector<std::string> &texts);

/// Reads the folder that `transom verify --stages` wrote, and compares the
/// stages with each other and with the certificate. Gives the certificate with
/// the difference, if there is one. `Rejected` for files that are not those of
/// one certificate: their hashes are compared before anything is parsed.
Result<Certificate> checkStages(const std::string &folder);

} // namespace transom
