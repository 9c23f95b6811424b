// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory for one phase that is evaluated on a machine's bytes: an element is
// read from the phase's writes, otherwise from the bytes before the phase. The
// machine's bytes do not change.
#pragma once
#include "compiler/evaluator/Number.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Types.h"
#include <string>
#include <vector>

namespace transom {

/// Machine bytes; null: none at this location.
struct MachineBytes {
  const char *data = nullptr;
  int64_t size = 0;
};

/// A buffer in a phase: its bytes before, and the elements that the phase
/// writes.
struct MachineBuffer {
  MachineBytes before;
  int64_t width = 4; ///< bytes per element
  /// In memory order; empty if nothing is written.
  std::vector<Number> values;
  std::vector<bool> written;
  bool isScratch = false;            ///< contents are undefined
  mlir::Operation *writer = nullptr; ///< last operation that writes it
};

class MachineMemory {
public:
  /// Adds a buffer and returns its index.
  int32_t add(MachineBytes before, int64_t width);
  /// The element with this type at a byte offset in a buffer.
  Number read(int32_t buffer, int64_t offset, mlir::Type element);
  /// Consecutive elements, starting at a byte offset.
  void readRow(int32_t buffer, int64_t offset, mlir::Type element,
               llvm::MutableArrayRef<Number> row);
  void write(int32_t buffer, int64_t offset, Number value, mlir::Operation *by);
  void scratch(int32_t buffer, mlir::Operation *by);

  /// The first error in reads and writes; empty: none.
  const std::string &mistake() const { return firstMistake; }
  void fail(const std::string &text) {
    if (firstMistake.empty())
      firstMistake = text;
  }
  std::vector<MachineBuffer> &buffers() { return all; }

private:
  bool contains(const MachineBuffer &buffer, int64_t offset, const char *how);

  std::vector<MachineBuffer> all;
  std::string firstMistake;
};

/// Decodes an element in memory.
Number decodeElement(mlir::Type element, const char *bytes);
/// Encodes a number as an element with this type; keeps denormals.
void encodeElement(mlir::Type element, Number number, char *bytes);

} // namespace transom
