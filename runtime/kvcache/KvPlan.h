// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cache sizes for a session: the number of blocks in each group, and block
// table entries. They follow from the manifest and the session options alone,
// so the memory size is known before mapping.
#pragma once
#include "runtime/abi/Layout.h"
#include "runtime/base/Error.h"
#include "runtime/kvcache/KvRegions.h"
#include "runtime/manifest/Manifest.h"
#include <cstdint>
#include <vector>

namespace transom {

/// Decode engine options, with defaults filled in.
struct DecodeConfig {
  int64_t maxSequences = 1; ///< sequences in the caches
  int64_t maxKvTokens = 1;  ///< positions for all sequences together
  int64_t maxSourceTokens =
      0; ///< the same for read-only caches, in 256-position blocks; 0: the
         ///< maximum for each sequence
};

/// The caches for layers with equal properties.
struct KvGroup {
  bool readOnly = false; ///< filled once; else it grows
  int64_t window = 0;    ///< 0: a token attends to all positions
  int64_t blockBytes = 0;
  int64_t numBlocks = 0;    ///< for all sequences together
  int64_t maxPositions = 0; ///< for a read-only group: positions per sequence
  KvRegions regions{};      ///< block contents
};

/// Cache sizes for a session.
struct KvPlan {
  std::vector<KvGroup> groups;
  int64_t sequences = 0;
  int64_t blocksPerSequence = 0; ///< entries per sequence in each block table
  int64_t longest = 0;           ///< maximum number of tokens per sequence

  /// Plans caches for `sizes.maxSequences` sequences; an executor run has at
  /// most `runTokens` tokens. All sequences together have `maxKvTokens`
  /// positions, in any distribution.
  ///
  /// A group with a window has only the blocks that windows and the tokens in a
  /// run reach. They suffice for every step with one run, and for every step
  /// with many runs in which only one sequence has a past and more tokens than
  /// a run.
  ///
  /// A read-only group that an encoder fills holds at most `runTokens`
  /// positions per sequence, because one run fills it. Read-only groups have
  /// blocks for `maxSourceTokens` positions, where a sequence takes whole
  /// blocks, or for each sequence's maximum if that is 0. `Limit` if the sizes
  /// overflow.
  static Result<KvPlan> create(const ManifestDecoder &decoder,
                               const DecodeConfig &sizes, int64_t runTokens);
};

} // namespace transom
