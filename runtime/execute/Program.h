// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loaded artifact's program: manifest, code for the chosen instruction set,
// and entries ready to be called. Immutable and shared by threads.
#pragma once
#include "runtime/artifact/Artifact.h"
#include "runtime/execute/Entry.h"
#include "runtime/onednn/OneDnn.h"
#include <memory>
#include <string>
#include <vector>

namespace transom {

/// Code and metadata for an executor. Independent of text; session/Model.h adds
/// the tokenizer.
class Program {
public:
  /// Artifact load options.
  struct LoadOptions {
    std::string forcedIsa;      ///< name of an instruction set, or empty
    bool populate = false;      ///< read all weights now
    bool verifyWeights = false; ///< compare the weights with their sha256
  };

  const Manifest &manifest() const { return contents; }
  const std::string &manifestText() const { return text; }
  const transom_artifact_code &code() const { return *artifact; }
  const transom_isa_code &isa() const { return *chosen; }
  const std::vector<Entry> &entries() const { return entryList; }
  /// NULL if oneDNN is not used.
  const OneDnnModel *oneDnn() const { return oneDnnModel.get(); }
  /// The entry with that name, or NULL.
  const Entry *findEntry(const char *name) const;
  /// The first entry with this kind, or NULL.
  const Entry *findEntry(EntryKind kind) const;

protected:
  Program() = default;
  /// Loads an artifact.
  Result<void> load(const std::string &path, const LoadOptions &options);
  /// Uses code that is already in memory; `code` outlives the program. `name`
  /// is for errors.
  Result<void> takeCode(Manifest manifest, std::string manifestText,
                        const transom_artifact_code &code,
                        const std::string &forcedIsa, const std::string &name);
  /// The tokenizer tables in the artifact; empty without a tokenizer.
  std::string_view tokenizerTables() const { return library.tokenizer(); }

private:
  Result<void> resolve(const std::string &forcedIsa, const std::string &name);
  Result<void> addEntry(const ManifestEntry &source, const std::string &name);

  ArtifactCode library; // destroyed last
  Manifest contents;
  std::string text;
  const transom_artifact_code *artifact = nullptr;
  const transom_isa_code *chosen = nullptr;
  std::vector<Entry> entryList;
  std::unique_ptr<OneDnnModel> oneDnnModel;
};

} // namespace transom
