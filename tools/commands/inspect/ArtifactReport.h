// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports on the contents of an artifact, from its manifest; no code is
// executed.
#pragma once
#include "compiler/statistics/ModelFigures.h"
#include "compiler/verify/Certificate.h"
#include "runtime/artifact/Artifact.h"
#include "tools/commands/inspect/MemoryTable.h"
#include <optional>

namespace transom::tools {

/// An artifact and the data to show.
struct ArtifactReport {
  const ArtifactFile &file;
  bool isVerified = false; ///< the weights match the manifest's hash
  std::optional<ModelFigures> figures; ///< absent in older artifacts
  MemoryTable memory;
  std::optional<Certificate> certificate; ///< from a compile with `--certify`

  /// Reads the model statistics and the certificate.
  static Result<ArtifactReport> create(const ArtifactFile &file,
                                       bool isVerified, MemoryTable memory);
  /// Returns one object, in several lines.
  std::string toJson() const;
  /// Returns human-readable text.
  std::string getText() const;
};

/// Returns the cache bytes per token in a sequence, or per source token.
int64_t getPositionBytes(const ManifestDecoder &decoder, bool ofSource);

/// Returns the block bytes for one sequence with this many positions, without
/// source blocks.
int64_t getSequenceBytes(const ManifestDecoder &decoder, int64_t positions);

} // namespace transom::tools
