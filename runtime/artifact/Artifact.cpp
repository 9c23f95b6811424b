// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dynamic loader keeps objects by name: a file that was compiled anew under
// a name that is still loaded would give the old code. So the manifest in
// memory is compared with the one that was read, and another spelling of the
// path is taken when they differ.
#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Elf.h"
#include "runtime/base/File.h"
#include "runtime/base/Sha256.h"
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/statvfs.h>
#include <utility>

using namespace transom;

/// Compares the file's size and the manifest's claims about places in it.
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
      tables && !image.addressOf(tables->offset, tables->bytes))
    return rejected(path + ": its tokenizer lies outside the loaded segments");
  return {};
}

Result<ArtifactFile> ArtifactFile::open(const std::string &path) {
  TRANSOM_ASSIGN(MappedFile mapping, MappedFile::open(path));
  TRANSOM_ASSIGN(ElfImage image, readElf(mapping.bytes(), path));
  if (image.digest) {
    Sha256 hash;
    hash.update(image.manifest);
    auto digest = hash.digest();
    if (std::memcmp(digest.data(), image.digest->data(), digest.size()) != 0)
      return rejected(path + ": its manifest was changed: the digest differs");
  }
  TRANSOM_ASSIGN(Manifest manifest, Manifest::parse(image.manifest, path));
  TRANSOM_TRY(checkExtent(path, manifest, image, mapping.size()));
  ArtifactFile result;
  result.name = path;
  result.text = image.manifest;
  result.address = image.manifestAddress;
  result.bytes = mapping.size();
  result.machine = image.machine;
  if (const auto &tables = manifest.tokenizer)
    result.tokenizer = *image.addressOf(tables->offset, tables->bytes);
  result.contents = std::move(manifest);
  return result;
}

Result<void> ArtifactFile::checkMachine() const {
  if (machine == thisMachine())
    return {};
  return unsupported(name + ": has code for " + machineName(machine) +
                     ", this machine is " + machineName(thisMachine()));
}

/// The range of memory that a loaded object maps, asked of the dynamic loader.
struct LoadedRange {
  ElfW(Addr) base;
  uint64_t end = 0;
};

static LoadedRange rangeOf(void *handle) {
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

/// True when what the loader gave was made from this file.
static bool holdsManifest(const LoadedRange &range, const ArtifactFile &file) {
  const std::string &text = file.manifestText();
  uint64_t address = file.manifestAddress();
  return address < range.end && text.size() <= range.end - address &&
         std::memcmp(reinterpret_cast<const char *>(range.base) + address,
                     text.data(), text.size()) == 0;
}

/// True for a file from which the kernel maps no code.
static bool isOnNoexec(const std::string &path) {
  struct statvfs info;
  return statvfs(path.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC);
}

Result<ArtifactCode> ArtifactCode::load(const ArtifactFile &file) {
  const std::string &path = file.path();
  size_t slash = path.rfind('/');
  std::string folder =
      slash == std::string::npos ? "./" : path.substr(0, slash + 1);
  std::string base = slash == std::string::npos ? path : path.substr(slash + 1);
  constexpr int spellings = 64;
  for (int i = 0; i != spellings; ++i, folder += "./") {
    ArtifactCode code;
    code.handle = dlopen((folder + base).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!code.handle) {
      const char *reason = dlerror();
      if (isOnNoexec(path))
        return unavailable(path +
                           ": is on a file system mounted with 'noexec', from "
                           "which no code can run; move it to another");
      return rejected(path + ": the dynamic loader refuses it: " +
                      (reason ? reason : "no reason given"));
    }
    LoadedRange range = rangeOf(code.handle);
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
