// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deflate through zlib.
#include "tools/commands/attention/Deflate.h"
#include <algorithm>
#include <limits>
#include <new>
#include <zlib.h>

using namespace transom;

/// Window bits for both formats: zlib, and without a header.
static constexpr int zlibFormat = MAX_WBITS, rawFormat = -MAX_WBITS;

static std::string compressBytes(std::string_view bytes, int format,
                                 const std::vector<size_t> &ends) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, format, 8, Z_RLE) !=
      Z_OK)
    throw std::bad_alloc();
  std::string out;
  Bytef buffer[1 << 14];

  // Compresses the bytes up to an offset.
  const auto advance = [&](size_t end, int flush) {
    constexpr size_t maxInput = std::numeric_limits<uInt>::max();
    size_t done = stream.total_in;
    do {
      const size_t size = std::min(end - done, maxInput);
      done += size;
      stream.next_in =
          reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data())) + done -
          size;
      stream.avail_in = static_cast<uInt>(size);
      do {
        stream.next_out = buffer;
        stream.avail_out = sizeof buffer;
        ::deflate(&stream, done == end ? flush : Z_NO_FLUSH);
        out.append(reinterpret_cast<char *>(buffer),
                   sizeof buffer - stream.avail_out);
      } while (stream.avail_out == 0);
    } while (done != end);
  };
  for (size_t end : ends)
    advance(std::min(end, bytes.size()), Z_BLOCK);
  advance(bytes.size(), Z_FINISH);
  deflateEnd(&stream);
  return out;
}

std::string tools::deflate(std::string_view bytes,
                           const std::vector<size_t> &ends) {
  return compressBytes(bytes, rawFormat, ends);
}

std::string tools::deflateZlib(std::string_view bytes) {
  return compressBytes(bytes, zlibFormat, {});
}

uint32_t tools::getCrc32(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
}
