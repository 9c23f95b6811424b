// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The digest of an artifact: a hash of everything that the dynamic loader maps
// and uses, without the weights. The compiler writes it into a note; the loader
// checks it before it passes the file to the dynamic loader.
#pragma once
#include "runtime/base/Sha256.h"
#include <array>
#include <cstdint>
#include <string_view>

namespace transom {

/// Note type for the digest; the descriptor is the 32 digest bytes.
inline constexpr uint32_t digestNoteType = 4;

/// Computes the digest of a 64-bit ELF file whose headers are valid.
///
/// It covers the bytes of all PT_LOAD segments but the last one, which holds
/// the weights. The 32 bytes at `digestOffset` are skipped. The header's
/// section fields (e_shoff, e_shnum, e_shstrndx) count as zero, so that
/// stripped files have the same digest. `bytes` may end before the weights.
///
/// It is a SHA-256 over SHA-256 digests: each contiguous range is split into
/// eight lanes with equal length, rounded up to 64 bytes (the last lanes may be
/// shorter or empty), whose digests follow in order. Lanes are hashed
/// simultaneously.
///
/// `engine` selects the implementation and does not change the result.
std::array<uint8_t, 32>
computeArtifactDigest(std::string_view bytes, uint64_t digestOffset,
                      Sha256::Engine engine = Sha256::Engine::Automatic);

} // namespace transom
