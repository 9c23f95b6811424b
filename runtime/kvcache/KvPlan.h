// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of the caches of a session: number of blocks of each group, entries
// of the block tables. They follow from the manifest and the session's options
// alone, so the memory is known before it is mapped.
#pragma once
#include "runtime/abi/Layout.h"
#include "runtime/base/Error.h"
#include "runtime/kvcache/KvRegions.h"
#include "runtime/manifest/Manifest.h"
#include <cstdint>
#include <vector>

namespace transom {

/// What a decode engine holds, with defaults filled in.
struct DecodeConfig {
  int64_t maxSequences = 1;    ///< sequences in the caches
  int64_t maxKvTokens = 1;     ///< positions of all sequences in the caches
  int64_t maxSourceTokens = 0; ///< likewise in read-only caches, in blocks of
                               ///< 256; 0: the maximum of each sequence
};

/// The caches of layers with equal properties.
struct KvGroup {
  bool readOnly = false; ///< filled once; else it grows
  int64_t window = 0;    ///< 0: a token attends to all positions
  int64_t blockBytes = 0;
  int64_t numBlocks = 0;    ///< of all sequences together
  int64_t maxPositions = 0; ///< of a read-only group: positions of a sequence
  KvRegions regions{};      ///< what a block consists of
};

/// The sizes of the caches of a session.
struct KvPlan {
  std::vector<KvGroup> groups;
  int64_t sequences = 0;
  int64_t blocksPerSequence = 0; ///< entries of a sequence in each block table
  int64_t longest = 0;           ///< maximum number of tokens of a sequence

  /// Plans the caches of `sizes.maxSequences` sequences; an executor run has at
  /// most `runTokens` tokens. All sequences together have `maxKvTokens`
  /// positions, however they divide them.
  ///
  /// A group with a window has only the blocks that windows and the tokens of a
  /// run reach. They suffice for each step of one run, and for each step of
  /// many runs in which one sequence alone has a past and more tokens than a
  /// run.
  ///
  /// A read-only group that an encoder fills holds at most `runTokens`
  /// positions of a sequence, because one run fills it. Read-only groups have
  /// blocks for `maxSourceTokens` positions, where a sequence takes whole
  /// blocks, or for the maximum of each sequence if that is 0. `Limit` when the
  /// sizes overflow.
  static Result<KvPlan> create(const ManifestDecoder &decoder,
                               const DecodeConfig &sizes, int64_t runTokens);
};

} // namespace transom
