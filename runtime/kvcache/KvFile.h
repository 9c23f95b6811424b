// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences as files: a header that names the model, then the blocks. Reading
// takes untrusted bytes: all sizes are checked against the file and the
// session's cache, and a digest covers everything.
#pragma once
#include "runtime/kvcache/PagedKvCache.h"
#include "runtime/manifest/Manifest.h"
#include <string>

namespace transom {

/// 32 bytes that are the same only for models whose caches mean the same.
std::string cacheDigest(const Manifest &manifest);

/// Writes an open sequence of a model with this digest.
Result<void> saveSequence(const PagedKvCache &pool, int32_t sequence,
                          const std::string &digest, const char *path);

/// Opens a sequence and fills it from a file. `Rejected` for files of other
/// models and broken ones, `Limit` where there is no room.
Result<int32_t> loadSequence(PagedKvCache &pool, const std::string &digest,
                             const char *path);

} // namespace transom
