// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses JSON in tests; returns a document or the error message.
#pragma once
#include "runtime/json/Json.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

namespace transom::test {

inline JsonDocument parse(std::string_view text) {
  Result<JsonDocument> json = parseJson(text, "f.json");
  EXPECT_TRUE(json) << (json ? "" : json.error().message);
  return json ? *json : *parseJson("null", "failed");
}

inline std::string parseError(std::string_view text) {
  Result<JsonDocument> json = parseJson(text, "f.json");
  if (json)
    return "parsed";
  EXPECT_EQ(json.error().status, Status::Rejected);
  return json.error().message;
}

} // namespace transom::test
