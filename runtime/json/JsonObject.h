// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value together with the document that it is in.
#pragma once
#include "runtime/json/Json.h"

namespace transom {

/// An object inside of a document, which it keeps.
struct JsonObject {
  JsonObject(JsonDocument document, JsonValue value)
      : document(std::move(document)), value(value) {}
  JsonDocument document;
  JsonValue value;
};

} // namespace transom
