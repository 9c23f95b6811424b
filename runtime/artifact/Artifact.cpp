// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file is opened once: its bytes are checked through a descriptor, and the
// dynamic loader opens the same descriptor through /proc/self/fd. So it maps
// the checked bytes even if the path is replaced in between.
//
// The dynamic loader identifies objects by name, and a descriptor number may be
// reused while an older object is still loaded. So the manifest in memory is
// compared with the manifest in the file, and a different spelling of the name
// is used if they differ.
#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Digest.h"
#include "runtime/artifact/Elf.h"
#include "runtime/base/File.h"
#include "runtime/base/FileUse.h"
#include "runtime/base/Finally.h"
#include "runtime/base/Sha256.h"
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

using namespace transom;

/// Checks the file size and the locations in the manifest.
static Result<void> checkExtent(const std::string &path,
                                const Manifest &manifest, const ElfImage &image,
                                uint64_t size) {
  uint64_t expected = manifest.fileBytes;
  if (size < expected)
    return rejected(path + ": truncated: it has " + std::to_string(size) +
                    " bytes, expected " + std::to_string(expected));
  if (image.loadEnd > expected)
    return rejected(path + ": its segments end at byte " +
                    std::to_string(image.loadEnd) + ", its manifest says " +
                    std::to_string(expected));
  if (const auto &tables = manifest.tokenizer;
      tables && !image.getAddress(tables->offset, tables->bytes))
    return rejected(path + ": its tokenizer lies outside the loaded segments");
  if (const uint64_t bytes = image.segments.back().size;
      manifest.weightsBytes > bytes)
    return rejected(path + ": its weights have " + std::to_string(bytes) +
                    " bytes, its manifest says " +
                    std::to_string(manifest.weightsBytes));
  return {};
}

/// Compares the digest in the file with the computed digest.
static Result<void> checkDigest(const std::string &path, const ElfImage &image,
                                std::string_view bytes) {
  const uint64_t offset = uint64_t(image.digest->data() - bytes.data());
  const auto digest = computeArtifactDigest(bytes, offset);
  if (std::memcmp(digest.data(), image.digest->data(), digest.size()) != 0)
    return rejected(path + ": is damaged: the digest of its contents differs");
  return {};
}

Descriptor::Descriptor(Descriptor &&other) noexcept
    : number(std::exchange(other.number, -1)) {}

Descriptor &Descriptor::operator=(Descriptor &&other) noexcept {
  std::swap(number, other.number);
  return *this;
}

Descriptor::~Descriptor() {
  if (number >= 0)
    ::close(number);
}

/// The path for an open file.
static std::string getDescriptorPath(int number) {
  return "/proc/self/fd/" + std::to_string(number);
}

/// Maps a file through its descriptor, or by path if the system has no /proc.
static Result<MappedFile> mapFile(const Descriptor &file,
                                  const std::string &path) {
  return MappedFile::open(file.number >= 0 ? getDescriptorPath(file.number)
                                           : path);
}

Result<ArtifactFile> ArtifactFile::open(const std::string &path) {
  // Map the file through its descriptor, or by its path without /proc. If the
  // path cannot be opened, the error comes from the second method.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  TRANSOM_TRY(FileUse::addInput(file.number, path));
  Result<MappedFile> opened = mapFile(file, path);
  if (!opened && file.number >= 0) {
    opened = MappedFile::open(path);
    file = Descriptor();
  }
  if (!opened)
    return opened.takeError();
  MappedFile mapping = std::move(*opened);
  TRANSOM_ASSIGN(ElfImage image, readElf(mapping.bytes(), path));
  // An artifact with another ABI version may have no digest; its manifest
  // contains the version.
  if (image.digest)
    TRANSOM_TRY(checkDigest(path, image, mapping.bytes()));
  TRANSOM_ASSIGN(Manifest manifest, Manifest::parse(image.manifest, path));
  if (!image.digest)
    return rejected(path + ": has no digest");
  TRANSOM_TRY(checkExtent(path, manifest, image, mapping.size()));
  ArtifactFile result;
  result.name = path;
  result.text = image.manifest;
  result.address = image.manifestAddress;
  result.bytes = mapping.size();
  result.machine = image.machine;
  result.weightsOffset = image.segments.back().offset;
  if (const auto &tables = manifest.tokenizer)
    result.tokenizer = *image.getAddress(tables->offset, tables->bytes);
  result.contents = std::move(manifest);
  result.file = std::move(file);
  return result;
}

Result<void> ArtifactFile::checkMachine() const {
  if (machine == thisMachine())
    return {};
  return unsupported(name + ": has code for " + machineName(machine) +
                     ", this machine is " + machineName(thisMachine()));
}

Result<void> ArtifactFile::checkWeights() const {
  TRANSOM_ASSIGN(MappedFile mapping, mapFile(file, name));
  const uint64_t end = weightsOffset + contents.weightsBytes;
  if (mapping.size() < end)
    return rejected(name + ": truncated: it has " +
                    std::to_string(mapping.size()) +
                    " bytes, its weights end at byte " + std::to_string(end));

  // Hash in blocks and release each, so that a large file does not stay in the
  // process's memory.
  constexpr uint64_t blockBytes = uint64_t(16) << 20;
  Sha256 hash;
  for (uint64_t begin = weightsOffset; begin < end; begin += blockBytes) {
    const uint64_t size = std::min(blockBytes, end - begin);
    hash.update(mapping.bytes().substr(begin, size));
    mapping.release(begin, begin + size);
  }
  if (const std::string found = hash.hex(); found != contents.weightsSha256)
    return rejected(name + ": its weights are damaged: their sha256 is " +
                    found + ", expected " + contents.weightsSha256);
  return {};
}

/// The memory range of a loaded object, queried from the dynamic loader.
struct LoadedRange {
  ElfW(Addr) base;
  uint64_t end = 0;
};

static LoadedRange getRange(void *handle) {
  LoadedRange range{0, 0};
  struct link_map *map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
    return range;
  range.base = map->l_addr;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        auto &range = *static_cast<LoadedRange *>(data);
        if (info->dlpi_addr != range.base)
          return 0;
        for (unsigned i = 0; i != info->dlpi_phnum; ++i) {
          const auto &segment = info->dlpi_phdr[i];
          if (segment.p_type == PT_LOAD)
            range.end = segment.p_vaddr + segment.p_memsz;
        }
        return 1;
      },
      &range);
  return range;
}

/// True if the loaded object has the manifest from this file.
static bool holdsManifest(const LoadedRange &range, const ArtifactFile &file) {
  const std::string &text = file.manifestText();
  uint64_t address = file.manifestAddress();
  return address < range.end && text.size() <= range.end - address &&
         std::memcmp(reinterpret_cast<const char *>(range.base) + address,
                     text.data(), text.size()) == 0;
}

/// True if the kernel maps no code from this file.
static bool isOnNoexec(const std::string &path) {
  struct statvfs info;
  return statvfs(path.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC);
}

/// True if the dynamic loader failed because the system lacks memory,
/// descriptors or read permission, not because of the file.
static bool isSystemReason(const std::string &reason) {
  if (reason == "out of memory") // glibc, without memory for the reason
    return true;
  for (int error : {ENOMEM, EMFILE, ENFILE, EIO, EACCES, EPERM})
    if (const std::string text = std::strerror(error);
        reason.size() >= text.size() &&
        reason.compare(reason.size() - text.size(), text.size(), text) == 0)
      return true;
  return false;
}

/// True if the path leads to the open file.
static bool isPathOf(const std::string &path, int descriptor) {
  struct stat named, opened;
  return stat(path.c_str(), &named) == 0 && fstat(descriptor, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/// The name for the dynamic loader: the file's path, which debuggers can also
/// open, or its descriptor's path if it has none.
static std::string getLoadPath(int descriptor) {
  const std::string link = getDescriptorPath(descriptor);
  char path[PATH_MAX];
  const ssize_t size = readlink(link.c_str(), path, sizeof path);
  if (size > 0 && static_cast<size_t>(size) < sizeof path &&
      isPathOf({path, static_cast<size_t>(size)}, descriptor))
    return {path, static_cast<size_t>(size)};
  return link;
}

/// Makes the error for a failed dlopen().
static Error makeLoadError(const std::string &path) {
  // Not all loader messages mention a lack of memory.
  const bool lacksMemory = errno == ENOMEM;
  const char *given = dlerror();
  const Finally release([] { dlerror(); }); // frees the loader's message
  const std::string reason = given ? given : "no reason given";
  if (isOnNoexec(path))
    return unavailable(path +
                       ": is on a file system mounted with 'noexec', from "
                       "which no code can run; move it to another");
  const std::string message =
      path + ": the dynamic loader refuses it: " + reason;
  return lacksMemory || isSystemReason(reason) ? unavailable(message)
                                               : rejected(message);
}

Result<ArtifactCode> ArtifactCode::load(const ArtifactFile &file) {
  const std::string &path = file.path();
  constexpr int spellings = 64;
  std::string folder, base;
  auto setName = [&](const std::string &name) {
    const size_t slash = name.rfind('/');
    folder = slash == std::string::npos ? "./" : name.substr(0, slash + 1);
    base = slash == std::string::npos ? name : name.substr(slash + 1);
  };
  setName(file.descriptor() >= 0 ? getLoadPath(file.descriptor()) : path);
  for (int i = 0; i != spellings; ++i, folder += "./") {
    ArtifactCode code;
    errno = 0;
    code.handle = dlopen((folder + base).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!code.handle)
      return makeLoadError(path);
    LoadedRange range = getRange(code.handle);
    if (file.descriptor() >= 0 && !isPathOf(folder + base, file.descriptor())) {
      // Another file got the path meanwhile and may have been loaded.
      setName(getDescriptorPath(file.descriptor()));
      continue;
    }
    if (!holdsManifest(range, file))
      continue;
    code.artifact = static_cast<const transom_artifact_code *>(
        dlsym(code.handle, "transom_artifact"));
    if (!code.artifact)
      return rejected(path + ": has no symbol 'transom_artifact'");
    if (code.artifact->abi != TRANSOM_ABI_VERSION)
      return rejected(
          path + ": its code has ABI " + std::to_string(code.artifact->abi) +
          ", this runtime has " + std::to_string(TRANSOM_ABI_VERSION));
    if (const auto &tables = file.manifest().tokenizer)
      code.tables = {reinterpret_cast<const char *>(range.base) +
                         file.tokenizerAddress(),
                     size_t(tables->bytes)};
    return code;
  }
  return unavailable(path + ": was replaced while it was being loaded");
}

ArtifactCode::ArtifactCode(ArtifactCode &&other) noexcept
    : handle(std::exchange(other.handle, nullptr)),
      artifact(std::exchange(other.artifact, nullptr)),
      tables(std::exchange(other.tables, {})) {}

ArtifactCode &ArtifactCode::operator=(ArtifactCode &&other) noexcept {
  std::swap(handle, other.handle);
  std::swap(artifact, other.artifact);
  std::swap(tables, other.tables);
  return *this;
}

ArtifactCode::~ArtifactCode() {
  if (handle)
    dlclose(handle);
}
