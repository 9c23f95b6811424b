// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of checked memory: what may be read, and what may be overwritten
// without a barrier.
#include "compiler/evaluator/kern/KernMemory.h"
#include <limits>

namespace transom {

void KernMemory::Cells::resize(int64_t bytes) {
  count = bytes;
  pages.resize((bytes + pageSize - 1) / pageSize);
}

KernMemory::Cell &KernMemory::Cells::operator[](int64_t i) {
  std::unique_ptr<Cell[]> &page = pages[i / pageSize];
  if (!page)
    page = std::make_unique<Cell[]>(pageSize);
  return page[i % pageSize];
}

const KernMemory::Cell &KernMemory::Cells::operator[](int64_t i) const {
  static const Cell untouched;
  const std::unique_ptr<Cell[]> &page = pages[i / pageSize];
  return page ? page[i % pageSize] : untouched;
}

int64_t KernMemory::grow(int64_t bytes) {
  int64_t offset = cells.size();
  cells.resize(cells.size() + bytes);
  return offset;
}

void KernMemory::fail(const std::string &text) {
  if (firstMistake.empty())
    firstMistake = text;
}

/// True when both run in one phase and are not known to be the same worker.
static bool mayRace(const Toucher &before, const Toucher &now) {
  return before.phase == now.phase &&
         (before.worker != now.worker || now.worker == Toucher::anyWorker);
}

Number KernMemory::read(const Extent &extent, int64_t offset, int64_t width,
                        const Toucher &by) {
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  if (offset < 0 || offset + width > extent.bytes) {
    fail("reads byte " + std::to_string(offset) + " of a buffer of " +
         std::to_string(extent.bytes));
    return nothing;
  }
  Cell &cell = cells[extent.offset + offset];
  if (cell.storage != extent.storage || cell.width != width) {
    fail(cell.storage < 0 || cell.storage == extent.storage
             ? "reads what nothing wrote"
             : "reads what another buffer overwrote");
    return nothing;
  }
  if (mayRace(cell.writer, by))
    fail("reads what another worker of its phase writes");
  bool both = mayRace(cell.reader, by) && cell.reader.op != by.op;
  cell.reader = by;
  if (both)
    cell.reader.worker = Toucher::anyWorker;
  return cell.value;
}

void KernMemory::claim(const Extent &extent, int64_t offset, int64_t width,
                       const Toucher &by) {
  if (offset < 0 || offset + width > extent.bytes)
    return fail("writes byte " + std::to_string(offset) + " of a buffer of " +
                std::to_string(extent.bytes));
  for (int64_t i = 0; i < width; ++i) {
    Cell &cell = cells[extent.offset + offset + i];
    if (mayRace(cell.reader, by) && cell.reader.op != by.op)
      fail("overwrites what another worker of its phase reads");
    if (mayRace(cell.writer, by) && cell.writer.op != by.op)
      fail("overwrites what another worker of its phase writes");
    cell.storage = extent.storage;
    cell.width = 0;
    cell.writer = by;
  }
}

void KernMemory::write(const Extent &extent, int64_t offset, int64_t width,
                       Number value, const Toucher &by) {
  claim(extent, offset, width, by);
  if (offset < 0 || offset + width > extent.bytes)
    return;
  Cell &cell = cells[extent.offset + offset];
  cell.value = value;
  cell.width = static_cast<int32_t>(width);
}

void KernMemory::scratch(const Extent &extent, const Toucher &by) {
  claim(extent, 0, extent.bytes, by);
}

bool KernMemory::holds(const Extent &extent) const {
  for (int64_t i = 0; i < extent.bytes; ++i)
    if (cells[extent.offset + i].storage != extent.storage)
      return false;
  return true;
}

} // namespace transom
