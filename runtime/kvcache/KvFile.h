// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Saves sequences in files and loads them. A file has a header that identifies
// the model, and then the blocks. A file is untrusted: all sizes are checked
// against the file and the session's cache, and a digest covers everything.
#pragma once
#include "runtime/kvcache/PagedKvCache.h"
#include "runtime/manifest/Manifest.h"
#include <string>

namespace transom {

/// 32 bytes that are equal only for models whose caches have the same meaning.
std::string cacheDigest(const Manifest &manifest);

/// Writes a sequence to a file with this model digest.
Result<void> saveSequence(const PagedKvCache &pool, int32_t sequence,
                          const std::string &digest, const char *path);

/// Creates a sequence and fills it from a file. `Rejected` if the file is
/// damaged or from another model, `Limit` if there is no room.
Result<int32_t> loadSequence(PagedKvCache &pool, const std::string &digest,
                             const char *path);

} // namespace transom
