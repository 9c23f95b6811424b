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
/// keys that are not known are errors, too. Of an explanation of another format
/// it reads what is as in this one, and adds a note that says what is not.
Result<Explanation> parseExplanation(const JsonDocument &document);

/// Takes from each explanation what the other one's format does not have, so
/// that a comparison shows no difference that is one of the formats.
void keepCommon(Explanation &a, Explanation &b);

/// The JSON schema (draft 2020-12) of the form.
std::string getExplanationSchema();

} // namespace transom
