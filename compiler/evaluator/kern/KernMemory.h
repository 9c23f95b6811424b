// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluator memory for kern: each arena byte records its last write, by buffer,
// phase and worker. A wrong offset, a lifetime that ends too early or a missing
// barrier is reported at the operation that reads or writes there.
#pragma once
#include "compiler/evaluator/Number.h"
#include "mlir/IR/Operation.h"
#include "runtime/base/Error.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace transom {

/// An access: one worker in a phase, or an operation whose split into workers
/// is unknown to the evaluator.
struct Toucher {
  static constexpr int anyWorker = -1;

  int32_t phase = 0;
  int32_t worker = anyWorker;
  mlir::Operation *op = nullptr;
};

/// A byte range that one buffer owns.
struct Extent {
  int64_t offset = 0;  ///< in the memory
  int64_t bytes = 0;   ///< size of the buffer
  int32_t storage = 0; ///< buffer index; views share it
};

/// Checked memory for one entry: its arguments and its arena.
class KernMemory {
public:
  /// Adds bytes without contents; returns the offset of the first.
  int64_t grow(int64_t bytes);

  /// An element with `width` bytes at a byte offset in the extent.
  Number read(const Extent &extent, int64_t offset, int64_t width,
              const Toucher &by);
  void write(const Extent &extent, int64_t offset, int64_t width, Number value,
             const Toucher &by);
  /// Overwrites an extent with undefined contents.
  void scratch(const Extent &extent, const Toucher &by);
  /// True if an extent was written as a whole and by no other buffer since.
  bool holds(const Extent &extent) const;

  /// Records an error; only the first is kept.
  void fail(const std::string &text);

  /// The first error in reads and writes, without its operation.
  const std::string &mistake() const { return firstMistake; }

private:
  /// One byte. The first byte in an element stores its value.
  struct Cell {
    Number value;
    int32_t storage = -1; ///< buffer that wrote it; -1: none
    int32_t width = 0;    ///< width of the element that starts here; 0: none
    Toucher writer{-1, Toucher::anyWorker, nullptr};
    Toucher reader{-1, Toucher::anyWorker, nullptr};
  };

  /// Checks a write, and clears the previous contents.
  void claim(const Extent &extent, int64_t offset, int64_t width,
             const Toucher &by);

  /// The bytes, in pages that are allocated on first access, since most arena
  /// bytes are never accessed.
  class Cells {
  public:
    int64_t size() const { return count; }
    void resize(int64_t bytes);
    Cell &operator[](int64_t i);
    const Cell &operator[](int64_t i) const;

  private:
    static constexpr int64_t pageSize = 1024;

    int64_t count = 0;
    std::vector<std::unique_ptr<Cell[]>> pages;
  };

  Cells cells;
  std::string firstMistake;
};

} // namespace transom
