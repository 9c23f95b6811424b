// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packs weights into their place in the artifact, a block at a time: what is
// evaluated, hashed and written at any moment is a few megabytes, whatever the
// size of the model.
#pragma once
#include "compiler/artifact/Artifact.h"

namespace transom {

/// What was packed.
struct PackedWeights {
  std::string sha256; ///< of all bytes
  RoundingErrors rounding;
};

/// Writes the plan's weights into `file` from `fileOffset` on, which is a hole
/// of at least `plan.weightBytes`; gaps and blocks of zeros stay holes.
Result<PackedWeights>
writeWeights(const ArtifactPlan &plan, const TensorSource &source,
             const std::function<void(const std::string &)> &release,
             OutputFile &file, uint64_t fileOffset,
             const WriteProgress &progress);

} // namespace transom
