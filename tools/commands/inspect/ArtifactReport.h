// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an artifact holds, from its manifest; nothing of it is executed.
#pragma once
#include "compiler/inspect/ModelFigures.h"
#include "compiler/verify/Certificate.h"
#include "runtime/artifact/Artifact.h"
#include "tools/commands/inspect/MemoryTable.h"
#include <optional>

namespace transom::tools {

/// An artifact and what is shown of it.
struct ArtifactReport {
  const ArtifactFile &file;
  bool isVerified = false; ///< the weights have the hash of the manifest
  std::optional<ModelFigures> figures; ///< absent in older artifacts
  MemoryTable memory;
  std::optional<Certificate> certificate; ///< of a compile with `--certify`

  /// Reads the figures and the certificate.
  static Result<ArtifactReport> create(const ArtifactFile &file,
                                       bool isVerified, MemoryTable memory);
  /// One object, in several lines.
  std::string toJson() const;
  /// For people.
  std::string getText() const;
};

/// Bytes of the caches for one token of one sequence, or of its source.
int64_t getPositionBytes(const ManifestDecoder &decoder, bool ofSource);

/// Bytes of the blocks of one sequence of so many positions, without those of
/// its source.
int64_t getSequenceBytes(const ManifestDecoder &decoder, int64_t positions);

} // namespace transom::tools
