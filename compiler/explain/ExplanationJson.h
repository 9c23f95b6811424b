// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explanations as JSON: writing, reading, and the schema of the form.
#pragma once
#include "compiler/explain/Explanation.h"
#include "runtime/json/Json.h"

namespace transom {

/// The JSON text. Equal explanations give equal bytes.
std::string toJson(const Explanation &explanation);

/// Reads what toJson() wrote. Errors are `Rejected` and name file and place;
/// keys that are not known are errors, too.
Result<Explanation> parseExplanation(const JsonDocument &document);

/// The JSON schema (draft 2020-12) of the form.
std::string getExplanationSchema();

} // namespace transom
