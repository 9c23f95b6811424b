// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packs weights into their location in the artifact block by block: a few
// megabytes are evaluated, hashed and written at a time, independent of the
// model size.
#pragma once
#include "compiler/artifact/Artifact.h"

namespace transom {

/// The result of writeWeights.
struct PackedWeights {
  std::string sha256; ///< over all bytes
  RoundingErrors rounding;
};

/// Writes the plan's weights into the hole in `file` that begins at
/// `fileOffset` and has at least `plan.weightBytes`; gaps and zero blocks
/// remain holes.
Result<PackedWeights>
writeWeights(const ArtifactPlan &plan, const TensorSource &source,
             const std::function<void(const std::string &)> &release,
             OutputFile &file, uint64_t fileOffset,
             const WriteProgress &progress);

} // namespace transom
