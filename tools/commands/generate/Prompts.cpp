// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON reader sees a single line, so error positions are moved to the
// file's lines.
#include "tools/commands/generate/Prompts.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include <algorithm>
#include <limits>

using namespace transom;
using namespace transom::tools;

static Result<Prompt> parsePrompt(JsonValue value) {
  Prompt prompt;
  if (value.isObject()) {
    const std::vector<std::string> keys = {"prompt", "ids"};
    for (JsonValue::Member member : value.members())
      if (std::find(keys.begin(), keys.end(), member.key) == keys.end())
        return value.error("unknown key '" + utf8::printable(member.key) +
                           "'; supported: " + joinNames(keys) +
                           suggest(member.key, keys));
    auto text = value.find("prompt"), ids = value.find("ids");
    if (bool(text) == bool(ids))
      return value.error("expected one of 'prompt' and 'ids'");
    value = text ? *text : *ids;
    if (text ? !value.isString() : !value.isArray())
      return value.typeError(text ? "a string" : "a list of ids");
  }
  if (value.isString()) {
    prompt.text = *value.asString();
    return prompt;
  }
  if (!value.isArray())
    return value.typeError("a string, a list of ids, or an object with "
                           "'prompt' or 'ids'");
  TRANSOM_ASSIGN(std::vector<int64_t> ids,
                 value.asIntArray(std::numeric_limits<int64_t>::min(),
                                  std::numeric_limits<int64_t>::max()));
  prompt.ids = std::move(ids);
  return prompt;
}

Result<Prompt> tools::parsePromptLine(const std::string &text,
                                      const std::string &file, size_t line) {
  const std::string name = file + ":" + std::to_string(line), first = ":1:";
  auto placed = [&](Error error) {
    if (error.message.compare(0, name.size() + first.size(), name + first) == 0)
      error.message.erase(name.size(), first.size() - 1);
    return error;
  };
  Result<JsonDocument> document = parseJson(text, name);
  if (!document) {
    Error error = placed(document.takeError());
    error.message += "; a line is a JSON text, a list of ids, or an object "
                     "with 'prompt' or 'ids'";
    return error;
  }
  Result<Prompt> prompt = parsePrompt(document->root());
  if (!prompt)
    return placed(prompt.takeError());
  return prompt;
}
