// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models and sessions for commands.
#include "tools/commands/Models.h"
#include "runtime/base/Suggest.h"
#include "tools/commands/Command.h"
#include "tools/commands/ModelPath.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

Error tools::lastError(transom_status status) {
  return {static_cast<Status>(status), transom_last_error(), {}};
}

Result<void> tools::check(transom_status status) {
  return status == TRANSOM_STATUS_OK ? Result<void>() : lastError(status);
}

Result<ModelPtr> tools::loadModel(const std::string &path) {
  transom_model *model = nullptr;
  TRANSOM_TRY(checkModelArtifact(path));
  transom_status status = transom_model_load(path.c_str(), nullptr, &model);
  if (status != TRANSOM_STATUS_OK)
    return lastError(status);
  return ModelPtr(model);
}

Result<SessionPtr>
tools::createSession(const transom_model *model,
                     const transom_session_options &options) {
  transom_session *session = nullptr;
  transom_status status = transom_session_create(model, &options, &session);
  if (status != TRANSOM_STATUS_OK)
    return lastError(status);
  return SessionPtr(session);
}

Result<transom_model_info> tools::getInfo(const transom_model *model) {
  transom_model_info info = transom_model_info_default();
  transom_status status = transom_model_get_info(model, &info);
  if (status != TRANSOM_STATUS_OK)
    return lastError(status);
  return info;
}

Result<Manifest> tools::getManifest(const transom_model *model) {
  TRANSOM_ASSIGN(transom_model_info info, getInfo(model));
  return Manifest::parse({info.manifest, info.manifest_size});
}

std::vector<std::string> tools::entryNames(const transom_model *model) {
  std::vector<std::string> names;
  transom_entry_info entry = transom_entry_info_default();
  for (size_t i = 0;
       transom_model_get_entry(model, i, &entry) == TRANSOM_STATUS_OK; ++i)
    names.push_back(entry.name);
  return names;
}

Result<void> tools::checkEntry(const transom_model *model,
                               const std::string &entry) {
  std::vector<std::string> names = entryNames(model);
  if (std::find(names.begin(), names.end(), entry) != names.end())
    return {};
  return usageError("the model has no entry " + quote(entry) +
                    "; it has: " + joinNames(names) + suggest(entry, names));
}
