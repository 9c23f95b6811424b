// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wraps the C API with the tool's error type and owning pointers.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/manifest/Manifest.h"
#include "transom/transom.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace transom::tools {

struct FreeModel {
  void operator()(transom_model *model) const { transom_model_free(model); }
};
struct FreeSession {
  void operator()(transom_session *session) const {
    transom_session_free(session);
  }
};
struct FreeGeneration {
  void operator()(transom_generation *generation) const {
    transom_generation_free(generation);
  }
};
using ModelPtr = std::unique_ptr<transom_model, FreeModel>;
using SessionPtr = std::unique_ptr<transom_session, FreeSession>;
using GenerationPtr = std::unique_ptr<transom_generation, FreeGeneration>;

/// Returns the error from the call that just returned `status`.
Error lastError(transom_status status);
/// Returns success, or the error from the call that just returned `status`.
Result<void> check(transom_status status);

Result<ModelPtr> loadModel(const std::string &path);
Result<SessionPtr> createSession(const transom_model *model,
                                 const transom_session_options &options);
/// Returns a model's properties.
Result<transom_model_info> getInfo(const transom_model *model);
/// Parses the model's manifest.
Result<Manifest> getManifest(const transom_model *model);
/// Returns the model's entry names.
std::vector<std::string> entryNames(const transom_model *model);
/// Fails unless the model has an entry with this name.
Result<void> checkEntry(const transom_model *model, const std::string &entry);

} // namespace transom::tools
