// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emitted index arithmetic with operators: `ceilDiv(items, workers) * size`
// emits the operations in that expression. Operations are emitted at the
// emitter's insertion point, operands from left to right.
#pragma once
#include "mlir/IR/Value.h"
#include <cstdint>
#include <utility>

namespace transom::lower {

class CodeEmitter;

/// A condition in the emitted code, an i1.
class Bool {
public:
  Bool(CodeEmitter &emitter, mlir::Value value)
      : emitter(&emitter), value(value) {}

  operator mlir::Value() const { return value; }
  CodeEmitter &getEmitter() const { return *emitter; }

private:
  CodeEmitter *emitter;
  mlir::Value value;
};

Bool logicalAnd(Bool x, Bool y);
Bool logicalNot(Bool x);

/// A signed 64-bit integer in the emitted code; null if default-constructed.
class Index {
public:
  Index() = default;
  Index(CodeEmitter &emitter, mlir::Value value)
      : emitter(&emitter), value(value) {}

  operator mlir::Value() const { return value; }
  /// True if this is not null.
  explicit operator bool() const { return static_cast<bool>(value); }
  CodeEmitter &getEmitter() const { return *emitter; }

private:
  CodeEmitter *emitter = nullptr;
  mlir::Value value;
};

using IndexPair = std::pair<Index, Index>;

// Division and remainder expect a non-negative x and a positive y.
Index operator+(Index x, Index y);
Index operator-(Index x, Index y);
Index operator*(Index x, Index y);
Index operator/(Index x, Index y);
Index operator%(Index x, Index y);
Index operator+(Index x, int64_t y);
Index operator-(Index x, int64_t y);
Index operator*(Index x, int64_t y);
Index operator/(Index x, int64_t y);
Index operator%(Index x, int64_t y);
Index operator-(int64_t x, Index y);

Index ceilDiv(Index x, Index y);
Index ceilDiv(Index x, int64_t y);
Index min(Index x, Index y);
Index min(Index x, int64_t y);
Index max(Index x, Index y);
Index max(Index x, int64_t y);

// Comparisons are signed.
Bool operator<(Index x, Index y);
Bool operator<(Index x, int64_t y);
Bool operator<(int64_t x, Index y);
Bool operator<=(Index x, Index y);
Bool operator<=(Index x, int64_t y);
Bool operator<=(int64_t x, Index y);
Bool operator==(Index x, Index y);
Bool operator==(Index x, int64_t y);

/// x if the condition holds, else y.
Index select(Bool condition, Index x, Index y);
Index select(Bool condition, Index x, int64_t y);
Index select(Bool condition, int64_t x, Index y);
Index select(Bool condition, int64_t x, int64_t y);

} // namespace transom::lower
