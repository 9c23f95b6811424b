// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that the compiler's shared library exports to the command line.
#include "compiler/api/CompileCertified.h"
#include "compiler/api/CompilerApi.h"
#include "compiler/codegen/FatalErrors.h"
#include "compiler/explain/Explanation.h"
#include "compiler/inspect/Inspection.h"
#include "compiler/verify/LayerErrors.h"
#include "compiler/verify/VerifyArtifact.h"
#include "compiler/verify/VerifyModel.h"
#include "runtime/base/FileUse.h"
#include <exception>
#include <new>
#include <system_error>

using namespace transom;

/// Calls an API function and returns its exceptions as errors.
template <auto function, typename Value, typename... Arguments>
static Result<Value> callGuarded(Arguments... arguments) {
  try {
    return function(arguments...);
  } catch (const std::bad_alloc &) {
    return unavailable("out of memory");
  } catch (const std::system_error &error) {
    return unavailable(std::string("the system refuses: ") + error.what());
  } catch (const std::exception &error) {
    return internalError(std::string("an unexpected exception: ") +
                         error.what());
  }
}

/// Wraps an API function with callGuarded().
template <auto function, typename Value, typename... Arguments>
static constexpr auto guard(Result<Value> (*)(Arguments...)) {
  return &callGuarded<function, Value, Arguments...>;
}

extern "C" __attribute__((visibility("default"))) const transom::CompilerApi *
transom_compiler() {
  static const CompilerApi api = {TRANSOM_VERSION,
                                  setFatalErrorHandler,
                                  guard<compileCertified>(compileCertified),
                                  guard<inspectModel>(inspectModel),
                                  guard<explainModel>(explainModel),
                                  guard<verifyArtifact>(verifyArtifact),
                                  guard<verifyModel>(verifyModel),
                                  guard<compareLayers>(compareLayers),
                                  FileUse::record};
  return &api;
}
