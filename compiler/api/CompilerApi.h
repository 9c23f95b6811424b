// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that libtransom-compiler exports to the command line, which
// opens the library only for commands that compile.
#pragma once
#include "compiler/driver/Compile.h"

namespace transom {

// In runtime/base/FileUse.h.
class FileUse;

// In compiler/inspect/Inspection.h.
struct Inspection;
struct InspectOptions;

// In compiler/explain/Explanation.h.
struct Explanation;
struct ExplainOptions;

// In compiler/verify/CodeVerification.h and ArtifactStepper.h.
struct CodeVerification;
class ArtifactStepper;

// In compiler/verify/VerifyModel.h.
struct Certificate;
struct VerifyOptions;

// In compiler/verify/LayerErrors.h.
struct LayerErrors;
struct ExpectOptions;

/// The shared library functions, as returned by `transom_compiler()`. They do
/// not throw.
struct CompilerApi {
  const char *version;
  /// Sets the function that ends the process, with the exit code and a one-line
  /// message, when memory is exhausted or on an error that LLVM cannot return.
  /// Temporary output files have been removed before it is called.
  void (*setFatalErrorHandler)(void (*)(Status, const char *));
  Result<CompileReport> (*compile)(const CompileOptions &);
  Result<Inspection> (*inspectModel)(const InspectOptions &);
  Result<Explanation> (*explainModel)(const ExplainOptions &);
  Result<CodeVerification> (*verifyArtifact)(const CompileOptions &,
                                             ArtifactStepper &);
  Result<Certificate> (*verifyModel)(const VerifyOptions &);
  Result<LayerErrors> (*compareLayers)(const ExpectOptions &);
  /// Calls `FileUse::record` in the library, which has its own record.
  void (*recordFiles)(FileUse *);
};

} // namespace transom

/// Returns the library functions. They are valid while the library is open.
extern "C" const transom::CompilerApi *transom_compiler();
