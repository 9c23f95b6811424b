// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifies a compile and then compiles with the resulting certificate.
#include "compiler/api/CompileCertified.h"
#include "compiler/verify/VerifyModel.h"

using namespace transom;

Result<CompileReport> transom::compileCertified(const CompileOptions &options) {
  if (!options.certify)
    return compile(options);
  if (!options.resumeFrom.empty())
    return usageError("'--certify' checks all passes; '--resume-from' leaves "
                      "some out");
  VerifyOptions verify;
  verify.compile = options;
  TRANSOM_ASSIGN(Certificate certificate, verifyModel(verify));
  TRANSOM_TRY(certificate.check());
  CompileOptions certified = options;
  certified.certificate = certificate.toJson(0);
  return compile(certified);
}
