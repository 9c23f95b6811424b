// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models and artifacts as fact lists, which can be compared across both kinds.
#pragma once
#include "runtime/json/Json.h"
#include <optional>
#include <string>
#include <vector>

namespace transom::tools {

/// A property such as the `mlp` count in section `parameters`.
struct Fact {
  std::string section, name;
  std::string value;             ///< as a string
  std::optional<int64_t> number; ///< if it is an integer
};

/// A model or artifact to compare.
struct ComparedModel {
  std::string path;
  bool isArtifact = false;
  std::vector<Fact> facts;
};

/// Collects facts on a model or artifact at `path` from its JSON report. For a
/// model, also reads its JSON files, and its weights to hash them.
Result<ComparedModel> collectFacts(const std::string &path, bool isArtifact,
                                   JsonValue report);

/// Adds hashes for the model's files that the artifact was compiled from.
Result<void> addFileHashes(ComparedModel &model, const ComparedModel &artifact);

} // namespace transom::tools
