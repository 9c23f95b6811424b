// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chat templates for rerankers. A template runs once, on messages whose
// contents are slots for queries, documents and prompts, which are filled in
// later.
#pragma once
#include "runtime/json/Json.h"
#include "runtime/manifest/Manifest.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace transom {

/// Returns the folder's chat template; nullopt without one. `name` is `default`
/// or the name of another template.
Result<std::optional<std::string>>
readChatTemplate(const std::string &folder, const std::string &name,
                 std::vector<std::string> &files);

/// Template variables and their values.
using TemplateVariables = std::vector<std::pair<std::string, JsonValue>>;

/// Returns the string that a template generates for the messages with the roles
/// `query` and `document`, after a message with the role `system` if there is a
/// prompt. The message content is a string or, if `structured`, a list with one
/// item that contains it. `Unsupported` for a template that reads slot
/// contents, or omits a slot.
Result<ManifestTemplate> fillChatTemplate(const std::string &text,
                                          const TemplateVariables &variables,
                                          bool structured, bool hasPrompt);

} // namespace transom
