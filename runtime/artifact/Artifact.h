// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiled model's file: first read and checked without execution, then
// mapped as code.
#pragma once
#include "runtime/abi/Abi.h"
#include "runtime/base/Error.h"
#include "runtime/manifest/Manifest.h"
#include <string>
#include <string_view>

namespace transom {

/// A file descriptor that is closed with its owner. Move-only.
struct Descriptor {
  explicit Descriptor(int number = -1) : number(number) {}
  Descriptor(Descriptor &&other) noexcept;
  Descriptor &operator=(Descriptor &&other) noexcept;
  ~Descriptor();
  int number;
};

/// An artifact file that was read and checked, not executed. Move-only.
class ArtifactFile {
public:
  /// Opens `path` and checks structure, size, digest, ABI and manifest. Errors:
  /// `Unavailable` (missing, unreadable), `Rejected` (truncated, not an
  /// artifact, another ABI), `Unsupported` (an architecture without artifact
  /// support).
  static Result<ArtifactFile> open(const std::string &path);

  /// `Unsupported` if the code is for a different architecture than the host's.
  Result<void> checkMachine() const;
  /// Reads all weights and compares them with the manifest's `weights_sha256`;
  /// the digest that open() checks does not cover them. `Rejected` if they
  /// differ, `Unavailable` if the file cannot be read.
  Result<void> checkWeights() const;

  const std::string &path() const { return name; }
  const Manifest &manifest() const { return contents; }
  /// The manifest as it is in the file.
  const std::string &manifestText() const { return text; }
  /// The manifest's address, relative to the object's load address.
  uint64_t manifestAddress() const { return address; }
  /// The address of the tokenizer tables, if any.
  uint64_t tokenizerAddress() const { return tokenizer; }
  /// File size in bytes.
  uint64_t size() const { return bytes; }
  /// The open file whose bytes were checked; -1 if the system has no /proc.
  int descriptor() const { return file.number; }

private:
  std::string name, text;
  Manifest contents;
  uint64_t address = 0, tokenizer = 0, bytes = 0;
  uint64_t weightsOffset = 0; // in the file
  uint16_t machine = 0;
  Descriptor file;
};

/// An artifact's code, mapped by the dynamic loader. Move-only.
class ArtifactCode {
public:
  /// Maps the code of a checked file. Ensures that the loader maps this file,
  /// not an older one with the same name that is still loaded in the process.
  static Result<ArtifactCode> load(const ArtifactFile &file);
  ArtifactCode() = default;
  ArtifactCode(ArtifactCode &&other) noexcept;
  ArtifactCode &operator=(ArtifactCode &&other) noexcept;
  ~ArtifactCode();

  const transom_artifact_code &code() const { return *artifact; }
  /// The tokenizer's tables, empty without one.
  std::string_view tokenizer() const { return tables; }

private:
  void *handle = nullptr;
  const transom_artifact_code *artifact = nullptr;
  std::string_view tables;
};

} // namespace transom
