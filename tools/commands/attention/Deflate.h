// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deflate (RFC 1951) for byte matrices, through zlib: Huffman codes for bytes
// and for runs of equal bytes. Other repetitions are not searched, since
// attention weights have none.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace transom::tools {

/// Compresses `bytes` to the raw deflate format. Blocks with separate codes
/// also end at each offset in `ends`, in ascending order.
std::string deflate(std::string_view bytes,
                    const std::vector<size_t> &ends = {});

/// Compresses `bytes` to the zlib format (RFC 1950), which PNG uses.
std::string deflateZlib(std::string_view bytes);

/// Returns the CRC-32 as in PNG and gzip.
uint32_t getCrc32(std::string_view bytes);

} // namespace transom::tools
