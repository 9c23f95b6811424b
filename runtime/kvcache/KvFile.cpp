// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file: header, one record per group, then for each group the blocks that
// the next row attends to, all little-endian and without gaps. The digest
// covers the header before it and everything after it.
#include "runtime/kvcache/KvFile.h"
#include "runtime/base/Checked.h"
#include "runtime/base/File.h"
#include "runtime/base/Finally.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Utf8.h"
#include <cstddef>
#include <cstring>

using namespace transom;

namespace {

constexpr char fileMagic[8] = {'t', 'r', 'a', 'n', 's', 'o', 'm', 'k'};
constexpr uint32_t fileVersion = 1;

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t groups;
  int64_t length;  // positions
  char model[32];  // cacheDigest()
  uint8_t sum[32]; // digest for the rest
};
static_assert(sizeof(FileHeader) == 88);

struct FileGroup {
  int64_t window;
  int64_t blockBytes;
  int64_t first; // first block's index; read-only: number of positions
  int64_t count; // block count
};

/// A group's record: the blocks that the next token attends to. For a read-only
/// group `first` is the number of positions.
FileGroup getGroup(const PagedKvCache &pool, size_t group, int64_t length,
                   int64_t readOnlyLength) {
  const KvGroup &what = pool.groups()[group];
  if (what.readOnly)
    return {what.window, what.blockBytes, readOnlyLength,
            getNumKvBlocks(readOnlyLength)};
  int64_t first = pool.getFirstVisibleBlock(group, length);
  return {what.window, what.blockBytes, first, getNumKvBlocks(length) - first};
}

std::string_view asBytes(const void *data, size_t size) {
  return {static_cast<const char *>(data), size};
}

/// A file to load, with the checks in order.
class SequenceFile {
public:
  SequenceFile(const PagedKvCache &pool, const char *path)
      : pool(pool), path(path) {}

  Result<void> open(const std::string &digest) {
    TRANSOM_ASSIGN(MappedFile mapped, MappedFile::open(path));
    file = std::move(mapped);
    if (Result<void> done = readHeader(digest); !done)
      return done;
    if (Result<void> done = readGroups(); !done)
      return done;
    return checkSum();
  }

  int64_t length() const { return header.length; }

  /// Gives a sequence blocks in its read-only groups.
  Result<void> fillReadOnly(PagedKvCache &cache, int32_t sequence) const {
    for (size_t g = 0; g != groups.size(); ++g)
      if (isReadOnly(g) && groups[g].first > 0)
        TRANSOM_TRY(cache.fillReadOnly(sequence, g, groups[g].first));
    return {};
  }

  /// Copies all blocks into a sequence that has room for them.
  void copyTo(int32_t sequence) const {
    const char *from = file.bytes().data() + dataOffset;
    for (size_t g = 0; g != groups.size(); ++g)
      for (int64_t i = 0; i != groups[g].count; ++i) {
        std::memcpy(pool.block(sequence, g, getFirst(g) + i), from,
                    size_t(groups[g].blockBytes));
        from += groups[g].blockBytes;
      }
  }

private:
  Error error(const std::string &text) const {
    return rejected(utf8::printable(path, 400) + ": " + text);
  }

  bool isReadOnly(size_t group) const { return pool.groups()[group].readOnly; }
  int64_t getFirst(size_t group) const {
    return isReadOnly(group) ? 0 : groups[group].first;
  }

  Result<void> readHeader(const std::string &digest) {
    if (file.size() < sizeof header)
      return error("not a sequence's file, or cut off: it has " +
                   std::to_string(file.size()) + " bytes");
    std::memcpy(&header, file.bytes().data(), sizeof header);
    if (std::memcmp(header.magic, fileMagic, sizeof fileMagic) != 0)
      return error("not a sequence's file");
    if (header.version != fileVersion)
      return error("a sequence's file of version " +
                   std::to_string(header.version) + ", this program reads " +
                   std::to_string(fileVersion));
    if (digest.compare(0, std::string::npos, header.model,
                       sizeof header.model) != 0)
      return error("the cache of another model");
    if (header.groups != pool.groups().size() || header.length < 0 ||
        header.length > INT32_MAX)
      return error("broken header: " + std::to_string(header.groups) +
                   " groups, " + std::to_string(header.length) + " positions");
    if (header.length > pool.longest())
      return limitError(utf8::printable(path, 400) + ": a sequence of " +
                        std::to_string(header.length) +
                        " positions, the session holds " +
                        std::to_string(pool.longest()) + " of one sequence");
    return {};
  }

  Result<void> readGroups() {
    // Check that all records are there.
    dataOffset = sizeof header + header.groups * sizeof(FileGroup);
    if (file.size() < dataOffset)
      return error("cut off after " + std::to_string(file.size()) + " bytes");
    CheckedSize size(dataOffset);
    // Compare each record with the session's cache, and add up the block sizes.
    for (size_t g = 0; g != header.groups; ++g) {
      FileGroup group;
      std::memcpy(&group,
                  file.bytes().data() + sizeof header + g * sizeof group,
                  sizeof group);
      FileGroup expected = getGroup(pool, g, header.length, group.first);
      if (isReadOnly(g) &&
          (group.first < 0 || group.first > pool.groups()[g].maxPositions))
        return error("group " + std::to_string(g) + " has " +
                     std::to_string(group.first) +
                     " positions, expected 0 to " +
                     std::to_string(pool.groups()[g].maxPositions));
      if (std::memcmp(&group, &expected, sizeof group) != 0)
        return error("group " + std::to_string(g) +
                     " does not fit the model's cache");
      groups.push_back(group);
      size += CheckedSize::fromSigned(group.count) *
              CheckedSize::fromSigned(group.blockBytes);
    }
    if (size.value() != file.size())
      return error("has " + std::to_string(file.size()) + " bytes, expected " +
                   std::to_string(size.value().value_or(0)));
    return {};
  }

  Result<void> checkSum() const {
    Sha256 hash;
    hash.update(file.bytes().substr(0, offsetof(FileHeader, sum)));
    hash.update(file.bytes().substr(sizeof header));
    if (std::memcmp(hash.digest().data(), header.sum, sizeof header.sum) != 0)
      return error("broken: its bytes do not fit its digest");
    return {};
  }

  const PagedKvCache &pool;
  std::string path;
  MappedFile file;
  FileHeader header{};
  std::vector<FileGroup> groups;
  size_t dataOffset = 0;
};

} // namespace

std::string transom::cacheDigest(const Manifest &manifest) {
  // The layout inside a block is decided by the compiler.
  std::string text = manifest.compiler + '\n' + manifest.family + '\n' +
                     manifest.dtype + '\n' + manifest.weightsSha256 + '\n';
  for (const auto &[file, hash] : manifest.inputsSha256)
    text += file + ' ' + hash + '\n';
  for (const ManifestCache &cache : manifest.decoder->caches)
    text += std::to_string(cache.window) + ' ' +
            std::string(dtypeName(cache.dtype)) + ' ' +
            std::to_string(cache.layers) + ' ' +
            std::to_string(cache.blockBytes) +
            (cache.readOnly ? " read_only " + std::to_string(cache.positions)
                            : std::string()) +
            '\n';
  Sha256 hash;
  hash.update(text);
  auto digest = hash.digest();
  return std::string(digest.begin(), digest.end());
}

Result<void> transom::saveSequence(const PagedKvCache &pool, int32_t sequence,
                                   const std::string &digest,
                                   const char *path) {
  FileHeader header{};
  std::memcpy(header.magic, fileMagic, sizeof fileMagic);
  header.version = fileVersion;
  header.groups = uint32_t(pool.groups().size());
  header.length = pool.length(sequence);
  std::memcpy(header.model, digest.data(), sizeof header.model);
  std::vector<FileGroup> groups;
  for (size_t g = 0; g != pool.groups().size(); ++g)
    groups.push_back(
        getGroup(pool, g, header.length, pool.readOnlyLength(sequence, g)));

  OutputOptions access;
  access.randomAccess = true;
  TRANSOM_ASSIGN(OutputFile file, OutputFile::create(path, access));
  Sha256 hash;
  hash.update(&header, offsetof(FileHeader, sum));
  if (Result<void> done = file.append(asBytes(&header, sizeof header)); !done)
    return done;
  auto add = [&](const void *data, size_t size) {
    hash.update(data, size);
    return file.append(asBytes(data, size));
  };
  if (Result<void> done = add(groups.data(), groups.size() * sizeof(FileGroup));
      !done)
    return done;
  for (size_t g = 0; g != groups.size(); ++g) {
    const bool isReadOnly = pool.groups()[g].readOnly;
    const int64_t first = isReadOnly ? 0 : groups[g].first;
    for (int64_t i = 0; i != groups[g].count; ++i)
      if (Result<void> done = add(pool.block(sequence, g, first + i),
                                  size_t(groups[g].blockBytes));
          !done)
        return done;
  }
  auto sum = hash.digest();
  if (Result<void> done = file.writeAt(offsetof(FileHeader, sum),
                                       asBytes(sum.data(), sum.size()));
      !done)
    return done;
  return file.commit();
}

Result<int32_t> transom::loadSequence(PagedKvCache &pool,
                                      const std::string &digest,
                                      const char *path) {
  SequenceFile file(pool, path);
  TRANSOM_TRY(file.open(digest));
  TRANSOM_ASSIGN(const int32_t sequence, pool.importSequence(file.length()));
  bool isDone = false;
  const Finally undo([&] {
    if (!isDone)
      pool.free(sequence);
  });
  TRANSOM_TRY(file.fillReadOnly(pool, sequence));
  file.copyTo(sequence);
  pool.markAllUsed(sequence);
  isDone = true;
  return sequence;
}
