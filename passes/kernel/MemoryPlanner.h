// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assigns arena offsets to buffers with lifetimes and symbolic sizes. Pure
// function, independent of the IR. Offsets are polynomials and valid for all
// sizes: two buffers that are live at the same time never overlap, for any
// symbol values. The caller rounds evaluated offsets up to a multiple of 64;
// buffers have room for that.
#pragma once
#include "runtime/base/Polynomial.h"
#include <vector>

namespace transom {

/// A buffer to place. It is live from step `first` to step `last`, inclusive.
struct BufferLifetime {
  Polynomial bytes; ///< non-negative coefficients
  int64_t first = 0;
  int64_t last = 0;
};

/// A range of the arena, and the buffers in it.
struct MemoryRegion {
  Polynomial bytes;
  std::vector<size_t> buffers; ///< the first one is the largest
};

/// Two buffers with disjoint lifetimes that share no memory, since neither is
/// the larger one in all calls.
struct BuffersApart {
  size_t buffer, other;
};

/// Buffer offsets.
struct MemoryPlan {
  std::vector<Polynomial> offsets;   ///< by buffer, in order
  Polynomial bytes;                  ///< arena size
  Polynomial lowerBound;             ///< max of the live bytes over all steps
  std::vector<MemoryRegion> regions; ///< in arena order
  std::vector<BuffersApart> apart;
};

/// Plans greedily, larger buffers first. A buffer goes into a region that is
/// large enough in every coefficient, above or below the buffers that are live
/// there at the same time; otherwise it opens a new region. If two sizes cannot
/// be compared, they are ordered with each symbol at `nominal`.
///
/// A size that is not always a multiple of 64 is rounded up in each
/// coefficient. If that takes more than 1 MiB, the buffer may get 64 extra
/// bytes instead, whichever gives the smaller arena.
MemoryPlan planMemory(const std::vector<BufferLifetime> &buffers,
                      int64_t nominal = 128);

} // namespace transom
