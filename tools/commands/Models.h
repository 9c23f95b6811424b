// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API with the tool's error type and owners that free.
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

/// The error of the call that just gave `status`.
Error lastError(transom_status status);
/// Nothing, or the error of the call that just gave `status`.
Result<void> check(transom_status status);

Result<ModelPtr> loadModel(const std::string &path);
Result<SessionPtr> createSession(const transom_model *model,
                                 const transom_session_options &options);
/// The properties of a model.
Result<transom_model_info> getInfo(const transom_model *model);
/// The model's manifest, parsed.
Result<Manifest> getManifest(const transom_model *model);
/// The names of its entries.
std::vector<std::string> entryNames(const transom_model *model);
/// An error unless the model has an entry of that name.
Result<void> checkEntry(const transom_model *model, const std::string &entry);

} // namespace transom::tools
