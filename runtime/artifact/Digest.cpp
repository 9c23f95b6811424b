// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file is hashed in file order; the few bytes that differ are patched in a
// copy of the header.
#include "runtime/artifact/Digest.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <vector>

using namespace transom;

namespace {
/// A range in the file.
struct FileRange {
  uint64_t begin, end;
};
} // namespace

/// The ranges that the digest covers: all loaded segments except for the last.
static std::vector<FileRange> getRanges(std::string_view bytes,
                                        const Elf64_Ehdr &header) {
  std::vector<FileRange> ranges;
  for (uint64_t i = 0; i != header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment,
                sizeof segment);
    if (segment.p_type == PT_LOAD)
      ranges.push_back({segment.p_offset, segment.p_offset + segment.p_filesz});
  }
  if (!ranges.empty())
    ranges.pop_back();
  return ranges;
}

/// Adds a range's lane digests to a hash.
static void addLanes(Sha256 &hash, std::string_view range,
                     Sha256::Engine engine) {
  constexpr size_t blockBytes = 64;
  const size_t numBlocks = (range.size() + blockBytes - 1) / blockBytes;
  const size_t laneBytes =
      (numBlocks + Sha256::numLanes - 1) / Sha256::numLanes * blockBytes;
  std::array<std::string_view, Sha256::numLanes> lanes;
  for (size_t i = 0; i != lanes.size(); ++i)
    lanes[i] = range.substr(std::min(i * laneBytes, range.size()), laneBytes);
  for (const Sha256::Digest &digest : Sha256::getDigests(lanes, engine))
    hash.update(digest.data(), digest.size());
}

std::array<uint8_t, 32> transom::computeArtifactDigest(std::string_view bytes,
                                                       uint64_t digestOffset,
                                                       Sha256::Engine engine) {
  constexpr uint64_t digestBytes = 32;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::vector<FileRange> ranges = getRanges(bytes, header);
  header.e_shoff = 0;
  header.e_shnum = header.e_shstrndx = 0;

  Sha256 hash(engine);
  auto update = [&](uint64_t begin, uint64_t end) {
    if (begin < end)
      addLanes(hash, bytes.substr(begin, end - begin), engine);
  };
  for (FileRange range : ranges) {
    // Hash the header without its section fields.
    uint64_t begin = range.begin;
    if (begin == 0 && range.end >= sizeof header) {
      hash.update(&header, sizeof header);
      begin = sizeof header;
    }
    // Hash all bytes except for the digest itself.
    const bool holdsDigest = digestOffset >= begin && digestOffset < range.end;
    if (!holdsDigest) {
      update(begin, range.end);
      continue;
    }
    update(begin, digestOffset);
    update(digestOffset + digestBytes, range.end);
  }
  return hash.digest();
}
