// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model or artifact as a list of facts that can be compared with those of
// another one, whatever either of them is.
#pragma once
#include "runtime/json/Json.h"
#include <optional>
#include <string>
#include <vector>

namespace transom::tools {

/// A value of a model: of section `parameters` the number of `mlp`.
struct Fact {
  std::string section, name;
  std::string value;             ///< as text
  std::optional<int64_t> number; ///< of a whole number
};

/// A model or artifact that is compared.
struct ComparedModel {
  std::string path;
  bool isArtifact = false;
  std::vector<Fact> facts;
};

/// The facts of a model or artifact at `path`, whose report as JSON is given.
/// Reads the files of a model: its JSON, and its weights to hash them.
Result<ComparedModel> collectFacts(const std::string &path, bool isArtifact,
                                   JsonValue report);

/// Adds the hashes of the files that the artifact was compiled from, of those
/// that a model has.
Result<void> addFileHashes(ComparedModel &model, const ComparedModel &artifact);

} // namespace transom::tools
