// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the shared library of the compiler exports for the tool.
#include "compiler/explain/Explanation.h"
#include "compiler/inspect/Inspection.h"
#include "compiler/verify/LayerErrors.h"
#include "compiler/verify/VerifyArtifact.h"
#include "compiler/verify/VerifyModel.h"

extern "C" __attribute__((visibility("default"))) const transom::CompilerApi *
transom_compiler() {
  static const transom::CompilerApi api = {
      TRANSOM_VERSION,       transom::compileCertified, transom::inspectModel,
      transom::explainModel, transom::verifyArtifact,   transom::verifyModel,
      transom::compareLayers};
  return &api;
}
