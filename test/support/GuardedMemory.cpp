// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guarded memory by mmap: the pages in the middle can be used, the first and
// the last cannot.
#include "test/support/GuardedMemory.h"
#include <cstdlib>
#include <sys/mman.h>

using namespace transom::test;

static constexpr size_t kPage = 4096;

GuardedMemory::GuardedMemory(size_t bytes, Edge edge) {
  size_t usable = (bytes + kPage - 1) / kPage * kPage;
  mapped = usable + 2 * kPage;
  base = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    std::abort();
  char *first = static_cast<char *>(base) + kPage;
  if (usable && mprotect(first, usable, PROT_READ | PROT_WRITE))
    std::abort();
  start = edge == Edge::End ? first + usable - bytes : first;
}

GuardedMemory &GuardedMemory::operator=(GuardedMemory &&other) noexcept {
  std::swap(base, other.base);
  std::swap(mapped, other.mapped);
  std::swap(start, other.start);
  return *this;
}

GuardedMemory::~GuardedMemory() {
  if (base)
    munmap(base, mapped);
}
