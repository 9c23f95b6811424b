// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hashes input files concurrently with the compile.
#include "compiler/stages/Hashes.h"
#include "runtime/base/File.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Threads.h"

using namespace transom;

/// Hashes a file. Its pages are released after they are read.
static Result<std::string> getHash(const std::string &path,
                                   const std::atomic<bool> &stopped) {
  TRANSOM_ASSIGN(MappedFile file, MappedFile::open(path));
  const uint64_t step = uint64_t(8) << 20;
  Sha256 hash;
  for (uint64_t at = 0; at < file.size() && !stopped; at += step) {
    hash.update(file.bytes().substr(at, step));
    file.release(at, at + step);
  }
  return hash.hex();
}

InputHashes::~InputHashes() {
  stopped = true; // the future's destructor waits
}

void InputHashes::start(
    const std::string &folder, const std::vector<std::string> &names,
    const std::vector<std::pair<std::string, std::string>> &others) {
  std::vector<std::pair<std::string, std::string>> files = others;
  for (const std::string &name : names)
    files.emplace_back(name, joinPath(folder, name));
  pending = startTask([this, files]() -> Result<FileHashes> {
    FileHashes hashes;
    for (const auto &[name, path] : files) {
      TRANSOM_ASSIGN(std::string hash, getHash(path, stopped));
      hashes[name] = hash;
    }
    return hashes;
  });
}

Result<FileHashes> InputHashes::take() { return pending.get(); }
