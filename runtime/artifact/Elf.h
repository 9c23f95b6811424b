// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads program headers, notes and the dynamic table from a shared object
// before it is loaded, and checks every value against the file size.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// The checked contents of an artifact file. The views point into its bytes.
struct ElfImage {
  /// The address to which a file range is mapped, or nullopt.
  std::optional<uint64_t> getAddress(uint64_t offset, uint64_t size) const;

  /// A mapped file range.
  struct Segment {
    uint64_t offset, size, address;
  };
  std::vector<Segment> segments;
  uint16_t machine = 0;         ///< EM_X86_64 or EM_AARCH64
  uint64_t loadEnd = 0;         ///< file offset where the mapped ranges end
  std::string_view manifest;    ///< descriptor of the manifest's note
  uint64_t manifestAddress = 0; ///< its virtual address
  std::optional<std::string_view> digest; ///< see Digest.h, 32 bytes
};

/// The ELF machine number that this runtime is built for.
uint16_t thisMachine();
/// Its name: `x86-64`, `aarch64`, or a number if not supported.
std::string machineName(uint16_t machine);

/// Checks `bytes` as an artifact's shared object: segments inside the file,
/// ordered and disjoint; no interpreter, no needed library, no code that runs
/// at load time. Errors are `Rejected`, or `Unsupported` for an architecture
/// without artifact support, and begin with `name`.
Result<ElfImage> readElf(std::string_view bytes, const std::string &name);

} // namespace transom
