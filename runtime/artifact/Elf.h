// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads program headers, notes and the dynamic table of a shared object before
// it is loaded, and checks every number against the bytes that are there.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// The checked parts of an artifact's file. The views point into its bytes.
struct ElfImage {
  /// Where a range of the file gets mapped, if it does.
  std::optional<uint64_t> getAddress(uint64_t offset, uint64_t size) const;

  /// A range of the file that gets mapped.
  struct Segment {
    uint64_t offset, size, address;
  };
  std::vector<Segment> segments;
  uint16_t machine = 0;         ///< EM_X86_64 or EM_AARCH64
  uint64_t loadEnd = 0;         ///< end in the file of what gets mapped
  std::string_view manifest;    ///< descriptor of the manifest's note
  uint64_t manifestAddress = 0; ///< its virtual address
  std::optional<std::string_view> digest; ///< see Digest.h, 32 bytes
};

/// The machine that this runtime is built for, as ELF numbers them.
uint16_t thisMachine();
/// Its name: `x86-64`, `aarch64`, or the number of one that is not supported.
std::string machineName(uint16_t machine);

/// Checks `bytes` as an artifact's shared object: segments inside the file, in
/// order and apart; no interpreter, no needed library, no code that runs at
/// load. Errors are `Rejected`, `Unsupported` for a machine that artifacts are
/// not made for, and begin with `name`.
Result<ElfImage> readElf(std::string_view bytes, const std::string &name);

} // namespace transom
