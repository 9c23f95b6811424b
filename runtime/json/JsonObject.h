// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value together with its document.
#pragma once
#include "runtime/json/Json.h"

namespace transom {

/// An object that keeps its document alive.
struct JsonObject {
  JsonObject(JsonDocument document, JsonValue value)
      : document(std::move(document)), value(value) {}
  JsonDocument document;
  JsonValue value;
};

} // namespace transom
