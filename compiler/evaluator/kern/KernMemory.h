// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of the evaluator for kern: bytes of an arena that know what was
// written to them, through which buffer, in which phase and by which worker. A
// wrong offset, a lifetime that ends too early or a missing barrier shows at
// the operation that meets it.
#pragma once
#include "compiler/evaluator/Number.h"
#include "mlir/IR/Operation.h"
#include "runtime/base/Error.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace transom {

/// Who touches memory: one worker of a phase, or an operation whose workers are
/// cut in a way that the evaluator does not know.
struct Toucher {
  static constexpr int anyWorker = -1;

  int32_t phase = 0;
  int32_t worker = anyWorker;
  mlir::Operation *op = nullptr;
};

/// A range of bytes that one buffer owns.
struct Extent {
  int64_t offset = 0;  ///< in the memory
  int64_t bytes = 0;   ///< of the whole buffer
  int32_t storage = 0; ///< number of the buffer; views share it
};

/// Checked memory of one entry: its arguments and its arena.
class KernMemory {
public:
  /// Adds bytes that hold nothing; gives the offset of the first.
  int64_t grow(int64_t bytes);

  /// An element of `width` bytes at a byte offset in the extent.
  Number read(const Extent &extent, int64_t offset, int64_t width,
              const Toucher &by);
  void write(const Extent &extent, int64_t offset, int64_t width, Number value,
             const Toucher &by);
  /// Writes nothing of use to a whole extent.
  void scratch(const Extent &extent, const Toucher &by);
  /// True where no other buffer wrote to an extent that was written as a whole.
  bool holds(const Extent &extent) const;

  /// Notes a mistake; the first one counts.
  void fail(const std::string &text);

  /// The first mistake that reads and writes met, without its operation.
  const std::string &mistake() const { return firstMistake; }

private:
  /// One byte. An element's value is in its first byte.
  struct Cell {
    Number value;
    int32_t storage = -1; ///< of the buffer that wrote it; -1: nothing did
    int32_t width = 0;    ///< of the element that begins here; 0: none does
    Toucher writer{-1, Toucher::anyWorker, nullptr};
    Toucher reader{-1, Toucher::anyWorker, nullptr};
  };

  /// Checks a write of bytes, and clears what was there.
  void claim(const Extent &extent, int64_t offset, int64_t width,
             const Toucher &by);

  /// The bytes, in pages that are made when a byte of them is looked at: most
  /// of an arena is not.
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
