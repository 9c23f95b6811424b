// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each operator emits one arith operation, folded if its operands are constant.
#include "passes/lower/emit/Index.h"
#include "passes/lower/emit/CodeEmitter.h"

using namespace mlir;

namespace transom::lower {

template <typename Op> static Index emitBinary(Index x, Value y) {
  CodeEmitter &e = x.getEmitter();
  return {e, e.builder().createOrFold<Op>(e.location(), x, y)};
}

Index operator+(Index x, Index y) { return emitBinary<arith::AddIOp>(x, y); }
Index operator-(Index x, Index y) { return emitBinary<arith::SubIOp>(x, y); }
Index operator*(Index x, Index y) { return emitBinary<arith::MulIOp>(x, y); }
Index operator/(Index x, Index y) { return emitBinary<arith::DivUIOp>(x, y); }
Index operator%(Index x, Index y) { return emitBinary<arith::RemUIOp>(x, y); }
Index min(Index x, Index y) { return emitBinary<arith::MinSIOp>(x, y); }
Index max(Index x, Index y) { return emitBinary<arith::MaxSIOp>(x, y); }

static Index constantLike(Index other, int64_t value) {
  return other.getEmitter().i64(value);
}

Index operator+(Index x, int64_t y) { return x + constantLike(x, y); }
Index operator-(Index x, int64_t y) { return x - constantLike(x, y); }
Index operator*(Index x, int64_t y) {
  return y == 1 ? x : x * constantLike(x, y);
}
Index operator/(Index x, int64_t y) { return x / constantLike(x, y); }
Index operator%(Index x, int64_t y) { return x % constantLike(x, y); }
Index operator-(int64_t x, Index y) { return constantLike(y, x) - y; }
Index min(Index x, int64_t y) { return min(x, constantLike(x, y)); }
Index max(Index x, int64_t y) { return max(x, constantLike(x, y)); }

Index ceilDiv(Index x, Index y) { return (x + (y - 1)) / y; }
Index ceilDiv(Index x, int64_t y) { return (x + (y - 1)) / y; }

static Bool emitCompare(arith::CmpIPredicate predicate, Index x, Index y) {
  CodeEmitter &e = x.getEmitter();
  Value result =
      e.builder().create<arith::CmpIOp>(e.location(), predicate, x, y);
  return {e, result};
}

Bool operator<(Index x, Index y) {
  return emitCompare(arith::CmpIPredicate::slt, x, y);
}
Bool operator<(Index x, int64_t y) { return x < constantLike(x, y); }
Bool operator<(int64_t x, Index y) { return constantLike(y, x) < y; }
Bool operator<=(Index x, Index y) { return logicalNot(y < x); }
Bool operator<=(Index x, int64_t y) { return x <= constantLike(x, y); }
Bool operator<=(int64_t x, Index y) { return constantLike(y, x) <= y; }
Bool operator==(Index x, Index y) {
  return emitCompare(arith::CmpIPredicate::eq, x, y);
}
Bool operator==(Index x, int64_t y) { return x == constantLike(x, y); }

Bool logicalAnd(Bool x, Bool y) {
  CodeEmitter &e = x.getEmitter();
  return {e, e.logicalAnd(x, y)};
}
Bool logicalNot(Bool x) {
  CodeEmitter &e = x.getEmitter();
  return {e, e.logicalNot(x)};
}

Index select(Bool condition, Index x, Index y) {
  CodeEmitter &e = condition.getEmitter();
  return {e, e.select(condition, x, y)};
}
Index select(Bool condition, Index x, int64_t y) {
  return select(condition, x, condition.getEmitter().i64(y));
}
Index select(Bool condition, int64_t x, Index y) {
  return select(condition, condition.getEmitter().i64(x), y);
}
Index select(Bool condition, int64_t x, int64_t y) {
  Index first = condition.getEmitter().i64(x);
  return select(condition, first, y);
}

} // namespace transom::lower
