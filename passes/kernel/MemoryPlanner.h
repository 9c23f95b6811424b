// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts buffers with lifetimes and symbolic sizes in one arena. Pure: it
// knows no IR. Offsets are polynomials and hold for all sizes: two buffers
// that live at once never overlap, whatever the symbols are. Who evaluates an
// offset rounds it up to a multiple of 64; buffers have room for that.
#pragma once
#include "runtime/base/Polynomial.h"
#include <vector>

namespace transom {

/// A buffer to place. It lives from step `first` to step `last`, both included.
struct BufferLifetime {
  Polynomial bytes; ///< non-negative coefficients
  int64_t first = 0;
  int64_t last = 0;
};

/// Bytes of the arena, and the buffers that are in them.
struct MemoryRegion {
  Polynomial bytes;
  std::vector<size_t> buffers; ///< the first one is the largest
};

/// Two buffers that live at different times and share no memory, since neither
/// is the larger in all calls.
struct BuffersApart {
  size_t buffer, other;
};

/// Where the buffers are.
struct MemoryPlan {
  std::vector<Polynomial> offsets; ///< of each buffer, in order
  Polynomial bytes;                ///< of the arena
  Polynomial lowerBound;           ///< the bytes that live at the fullest step
  std::vector<MemoryRegion> regions; ///< in the order of the arena
  std::vector<BuffersApart> apart;
};

/// Plans greedily, larger buffers first. A buffer goes into a region that is
/// large enough in every coefficient, above or below those that live at the
/// same time there, else it opens a region of its own. Which of two sizes that
/// cannot be compared counts as the larger is decided with each symbol at
/// `nominal`.
///
/// A size that is not a multiple of 64 for all values is rounded up in each
/// coefficient. Where that takes more than 1 MiB it may get 64 bytes more
/// instead: whichever gives the smaller arena.
MemoryPlan planMemory(const std::vector<BufferLifetime> &buffers,
                      int64_t nominal = 128);

} // namespace transom
