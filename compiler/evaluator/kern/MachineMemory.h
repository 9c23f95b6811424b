// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of one phase that is evaluated on the bytes of a machine: an
// element is what the phase wrote, else what the bytes before the phase say.
// Nothing is written to the machine.
#pragma once
#include "compiler/evaluator/Number.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Types.h"
#include <string>
#include <vector>

namespace transom {

/// Bytes of a machine; null: it has none there.
struct MachineBytes {
  const char *data = nullptr;
  int64_t size = 0;
};

/// A buffer of a phase: its bytes before, and what the phase writes to it.
struct MachineBuffer {
  MachineBytes before;
  int64_t width = 4; ///< bytes of an element
  /// By element in the order of memory; empty where nothing is written.
  std::vector<Number> values;
  std::vector<bool> written;
  bool isScratch = false;            ///< anything may be left in it
  mlir::Operation *writer = nullptr; ///< the last operation that writes it
};

class MachineMemory {
public:
  /// Adds a buffer; its number.
  int32_t add(MachineBytes before, int64_t width);
  /// The element at a byte offset of a buffer, of this type.
  Number read(int32_t buffer, int64_t offset, mlir::Type element);
  /// The elements one after another from a byte offset on.
  void readRow(int32_t buffer, int64_t offset, mlir::Type element,
               llvm::MutableArrayRef<Number> row);
  void write(int32_t buffer, int64_t offset, Number value, mlir::Operation *by);
  void scratch(int32_t buffer, mlir::Operation *by);

  /// The first mistake that reads and writes met; empty: none.
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

/// The number that an element in memory is.
Number decodeElement(mlir::Type element, const char *bytes);
/// Writes a number as an element of this type, with denormals.
void encodeElement(mlir::Type element, Number number, char *bytes);

} // namespace transom
