// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The form of explanations.
#include "compiler/explain/ExplanationJson.h"
#include "compiler/explain/ExplanationFields.h"
#include "runtime/json/FieldJson.h"

using namespace transom;

std::string transom::toJson(const Explanation &explanation) {
  return writeFields(explanation);
}

Result<Explanation> transom::parseExplanation(const JsonDocument &document) {
  const JsonValue root = document.root();
  TRANSOM_TRY(root.expectObject());
  TRANSOM_ASSIGN(JsonValue format, root.get("format"));
  TRANSOM_ASSIGN(int64_t version, format.asInt());
  if (version != Explanation::currentFormat)
    return format.error("format " + std::to_string(version) +
                        " of explanations is not supported; supported: " +
                        std::to_string(Explanation::currentFormat));
  return readFields<Explanation>(root);
}

std::string transom::getExplanationSchema() {
  return writeFieldSchema<Explanation>("What 'transom explain --json' writes");
}
