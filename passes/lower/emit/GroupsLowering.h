// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with weights that are whole numbers in groups.
#pragma once
#include "passes/lower/emit/OperandLowering.h"

namespace transom::lower {

/// The lowering of one of `OperandFormat::getQuantizedFormats()`.
std::unique_ptr<OperandLowering>
makeGroupsLowering(const OperandFormat &format);
/// What all lowerings of whole numbers in groups have: bytes that are packed
/// when weights are written, and whose columns are nothing without scales.
class StoredGroupsLowering : public OperandLowering {
public:
  mlir::Type getStoredType(CodeEmitter &e) const override {
    return e.builder().getI8Type();
  }
  Value round(CodeEmitter &, Value) const override {
    llvm_unreachable("weights are rounded when they are packed");
  }
  Value gatherColumns(CodeEmitter &, Value, Value) const override {
    llvm_unreachable("columns need scales");
  }
  void scatterColumns(CodeEmitter &, Value, Value, Value) const override {
    llvm_unreachable("weights are packed when they are written");
  }
  int64_t getKPerIteration() const override { return getFormat().interleave; }

protected:
  /// Beside rows of `operand`.
  StoredGroupsLowering(const OperandFormat &format, StorageType operand);
};

} // namespace transom::lower
