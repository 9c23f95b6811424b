// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Repeats the check in a certificate from the stage modules alone: no pass
// runs, and the program links none.
#pragma once
#include "compiler/verify/Certificate.h"

namespace transom {

/// The certificate's file name, in the same folder as its stages.
inline constexpr const char *certificateFile = "certificate.json";
/// The file name for a stage: `kern.mlir`.
std::string getCheckedStageFile(const std::string &stage);
/// The key text: the sha256 over the version and the stage texts, in order.
std::string deriveKey(const std::string &version,
                      const std::vector<std::string> &texts);

/// Reads the folder that `transom verify --stages` wrote, and compares the
/// stages with each other and with the certificate. Returns the certificate,
/// with the difference if there is one. `Rejected` for files that do not belong
/// to one certificate: their hashes are compared before parsing.
Result<Certificate> checkStages(const std::string &folder);

} // namespace transom
