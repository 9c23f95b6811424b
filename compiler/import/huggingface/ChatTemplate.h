// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chat templates of rerankers. A template is run once, on messages whose
// contents are slots that queries, documents and prompts fill in later.
#pragma once
#include "runtime/json/Json.h"
#include "runtime/manifest/Manifest.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace transom {

/// The chat template of a folder; nothing without one. `name` is `default` or
/// the name of another of its templates.
Result<std::optional<std::string>>
readChatTemplate(const std::string &folder, const std::string &name,
                 std::vector<std::string> &files);

/// What the variables of templates stand for.
using TemplateVariables = std::vector<std::pair<std::string, JsonValue>>;

/// The text that a template makes of the messages with the roles `query` and
/// `document`, and of one before them with the role `system` if there is a
/// prompt. The content of a message is its text or, where `structured`, a list
/// of one item with it. `Unsupported` for a template that reads what is in the
/// texts, or leaves one of them out.
Result<ManifestTemplate> fillChatTemplate(const std::string &text,
                                          const TemplateVariables &variables,
                                          bool structured, bool hasPrompt);

} // namespace transom
