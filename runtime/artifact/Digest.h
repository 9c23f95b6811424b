// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The digest of an artifact: a hash of what the dynamic loader maps and uses,
// without the weights. The compiler writes it into a note; the loader compares
// it before it hands the file to the dynamic loader.
#pragma once
#include "runtime/base/Sha256.h"
#include <array>
#include <cstdint>
#include <string_view>

namespace transom {

/// Type of the note with the digest; its descriptor is the 32 bytes.
inline constexpr uint32_t digestNoteType = 4;

/// Computes the digest of a 64-bit ELF file whose headers are valid.
///
/// It covers the bytes of all PT_LOAD segments but the last one, which holds
/// the weights. The 32 bytes at `digestOffset` are left out. The header's
/// fields about sections (e_shoff, e_shnum, e_shstrndx) count as zero, so that
/// stripped files have the same digest. `bytes` may end before the weights.
///
/// It is the SHA-256 of SHA-256 digests: each contiguous range is cut into
/// eight lanes of equal length, rounded up to 64 bytes (the last ones may be
/// shorter or empty), whose digests follow in order. Lanes are hashed at once.
///
/// `engine` chooses the code, not the result.
std::array<uint8_t, 32>
computeArtifactDigest(std::string_view bytes, uint64_t digestOffset,
                      Sha256::Engine engine = Sha256::Engine::Automatic);

} // namespace transom
