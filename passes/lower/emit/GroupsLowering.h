// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs with quantized weights in groups.
#pragma once
#include "passes/lower/emit/OperandLowering.h"

namespace transom::lower {

/// The lowering for a format in `OperandFormat::getQuantizedFormats()`.
std::unique_ptr<OperandLowering>
makeGroupsLowering(const OperandFormat &format);
/// Base class for quantized weights in groups: bytes that are packed when
/// weights are written, with columns that cannot be read without scales.
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
  /// `operand`: element type of the other operand.
  StoredGroupsLowering(const OperandFormat &format, StorageType operand);
};

} // namespace transom::lower
