// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How large the cache of a session is: blocks of each group, entries of the
// tables of blocks. From the manifest and the session's options alone, so that
// its bytes can be told without taking them.
#pragma once
#include "runtime/abi/Layout.h"
#include "runtime/base/Error.h"
#include "runtime/manifest/Manifest.h"
#include <cstdint>
#include <vector>

namespace transom {

/// The blocks of one group of caches.
struct KvGroup {
  int64_t window = 0; ///< 0: a row sees all positions
  int64_t blockBytes = 0;
  int64_t blocks = 0; ///< of all sequences together
};

/// What the cache of a session holds.
struct KvPlan {
  std::vector<KvGroup> groups;
  int64_t sequences = 0;
  int64_t entries = 0; ///< of a sequence in each table of blocks
  int64_t longest = 0; ///< most positions that a sequence can have

  /// `kvTokens` positions for `sequences` sequences together, however they
  /// share them; walks have at most `walkRows` rows. A group with a window has
  /// only the blocks that windows and the rows of a walk reach: enough for each
  /// step of one walk, and for each of many walks in which one sequence alone
  /// has a past and more rows than a walk. `Limit` when the numbers overflow.
  static Result<KvPlan> create(const ManifestDecoder &decoder,
                               int64_t sequences, int64_t kvTokens,
                               int64_t walkRows);
};

} // namespace transom
