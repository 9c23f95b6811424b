// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explanations as JSON: writer, reader and schema.
#pragma once
#include "compiler/explain/Explanation.h"
#include "runtime/json/Json.h"

namespace transom {

/// Returns the JSON text. Equal explanations give equal bytes.
std::string toJson(const Explanation &explanation);

/// Reads toJson() output. Errors are `Rejected` and name file and location;
/// unknown keys are also errors. From an explanation in another format it reads
/// the common fields, and adds a note about the others.
Result<Explanation> parseExplanation(const JsonDocument &document);

/// Removes from each explanation the fields that the other format lacks, so
/// that a comparison shows no format differences.
void keepCommon(Explanation &a, Explanation &b);

/// Returns the JSON schema (draft 2020-12).
std::string getExplanationSchema();

} // namespace transom
