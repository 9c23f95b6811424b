// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deflate (RFC 1951) for matrices of bytes: Huffman codes of bytes and of runs
// of equal bytes. It does not look for other repetitions, which weights of
// attention do not have, and so needs no library.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace transom::tools {

/// `bytes` in the raw deflate format. Blocks with codes of their own end after
/// each of the ascending numbers of bytes `ends`, too.
std::string deflate(std::string_view bytes,
                    const std::vector<size_t> &ends = {});

/// `bytes` in the zlib format (RFC 1950), as PNG has it.
std::string deflateZlib(std::string_view bytes);

/// The CRC-32 of PNG and gzip.
uint32_t getCrc32(std::string_view bytes);

} // namespace transom::tools
