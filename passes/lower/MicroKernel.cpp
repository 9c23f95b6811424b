// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Micro-kernels: the loop over K holds one vector of weights a column vector,
// one broadcast a row, and the accumulators, all in registers.
#include "passes/lower/MicroKernel.h"
#include "passes/lower/VectorMath.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace transom::lower;

std::string KernelSpec::suffix() const {
  std::string text;
  auto number = [&](StringRef label, std::optional<int64_t> value) {
    if (value)
      text += llvm::formatv(".{0}{1}", label, *value).str();
  };
  number("k", k);
  number("lda", lhsStride);
  number("ldb", rhsStride);
  const char *starts[] = {".zero", ".bias", ".acc"};
  text += starts[static_cast<int>(start)];
  if (!activation.empty())
    text += "_" + activation;
  if (residual)
    text += "_residual";
  if (store == Store::Keys)
    text += "_keys";
  if (partialRhs)
    text += "_partial";
  if (prefetch)
    text += "_prefetch";
  return text;
}

void transom::lower::setTarget(LLVM::LLVMFuncOp function, const Isa &isa) {
  OpBuilder b(function.getContext());
  std::string bits = std::to_string(isa.vectorBits);
  auto pair = [&](StringRef key, StringRef value) -> Attribute {
    return b.getStrArrayAttr({key, value});
  };
  function.setPassthroughAttr(b.getArrayAttr(
      {b.getStringAttr("nounwind"), b.getStringAttr("no-builtins"),
       pair("prefer-vector-width", bits), pair("min-legal-vector-width", bits),
       pair("no-trapping-math", "true")}));
}

namespace {
/// Emits the body of one kernel.
class KernelBody {
public:
  KernelBody(Emitter &e, const Isa &isa, const KernelSpec &spec, int64_t rows,
             const KernelArgs &args)
      : e(e), isa(isa), spec(spec), rows(rows), args(args) {}

  void emit() {
    Value full = e.lessEqual(e.i64(isa.tileVectors * kLanes), args.columns);
    // Without masked loads the loop over K is one; only stores differ.
    if (spec.partialRhs) {
      e.ifThen(
          full, [&] { finish(multiply(false), false); },
          [&] { finish(multiply(true), true); });
      return;
    }
    SmallVector<Value> tile = multiply(false);
    e.ifThen(full, [&] { finish(tile, false); }, [&] { finish(tile, true); });
  }

private:
  Value bytes(Value elements) { return e.mul(elements, 4); }
  Value k() { return spec.k ? e.i64(*spec.k) : args.k; }
  Value lhsStride() {
    return spec.lhsStride ? e.i64(*spec.lhsStride) : args.lhsStride;
  }
  Value rhsStride() {
    return spec.rhsStride ? e.i64(*spec.rhsStride) : args.rhsStride;
  }
  Value mask(int64_t vector) {
    return e.laneMask(e.sub(args.columns, e.i64(vector * kLanes)));
  }
  /// Pointer to row `row`, vector `vector` of a row-major operand.
  Value at(Value base, Value stride, int64_t row, int64_t vector) {
    Value pointer =
        row == 0 ? base : e.advance(base, bytes(e.mul(stride, row)));
    return e.advance(pointer, vector * kLanes * 4);
  }

  SmallVector<Value> start() {
    SmallVector<Value> tile;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < isa.tileVectors; ++v)
        switch (spec.start) {
        case KernelSpec::Start::Zero:
          tile.push_back(e.splat(0.0));
          break;
        case KernelSpec::Start::Bias:
          tile.push_back(
              row ? tile[v]
                  : e.loadVector(e.f32Type(),
                                 e.advance(args.bias, v * kLanes * 4)));
          break;
        case KernelSpec::Start::Output:
          tile.push_back(e.loadVector(
              e.f32Type(), at(args.output, args.outputStride, row, v),
              mask(v)));
          break;
        }
    return tile;
  }

  /// The chains over K, ascending.
  SmallVector<Value> multiply(bool partial) {
    SmallVector<Value> masks;
    for (int64_t v = 0; v < isa.tileVectors && partial; ++v)
      masks.push_back(mask(v));
    auto step = [&](Value index, ValueRange tile) {
      Value lhs = e.advance(args.lhs, bytes(index));
      Value rhs = e.advance(args.rhs, bytes(e.mul(index, rhsStride())));
      SmallVector<Value> weights, next(tile);
      if (spec.prefetch)
        e.prefetch(e.advance(args.prefetch, e.mul(index, args.prefetchStride)));
      for (int64_t v = 0; v < isa.tileVectors; ++v)
        weights.push_back(e.loadVector(e.f32Type(),
                                       e.advance(rhs, v * kLanes * 4),
                                       partial ? masks[v] : Value()));
      for (int64_t row = 0; row < rows; ++row) {
        Value x = e.splat(e.loadF32(at(lhs, lhsStride(), row, 0)));
        for (int64_t v = 0; v < isa.tileVectors; ++v) {
          Value &sum = next[row * isa.tileVectors + v];
          sum = e.fma(x, weights[v], sum);
        }
      }
      return next;
    };
    return e.forLoop(e.i64(0), k(), 1, start(), step,
                     /*keepRolled=*/true);
  }

  void finish(ArrayRef<Value> tile, bool partial) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < isa.tileVectors; ++v)
        storeVector(tile[row * isa.tileVectors + v], row, v,
                    partial ? mask(v) : Value());
    if (!spec.activation.empty())
      activate(partial);
  }

  void storeVector(Value x, int64_t row, int64_t v, Value mask) {
    if (spec.store == KernelSpec::Store::Keys)
      return storeKeys(x, row, v, mask);
    if (spec.residual && spec.activation.empty())
      x = e.addF(x, e.loadVector(e.f32Type(),
                                 at(args.residual, args.residualStride, row, v),
                                 mask));
    e.storeVector(x, at(args.output, args.outputStride, row, v), mask);
  }

  /// Column c of key position p lies at [p / 32][c][p % 32].
  void storeKeys(Value x, int64_t row, int64_t v, Value mask) {
    Value position = e.loadI64(e.advance(args.rowKeys, row * 8));
    Value panel = e.div(position, e.i64(32)), lane = e.rem(position, e.i64(32));
    Value offset = e.add(e.mul(panel, args.outputStride), lane);
    Value target =
        e.advance(args.output, bytes(e.add(offset, v * kLanes * 32)));
    e.scatter(x, target, e.i64(32 * 4), mask);
  }

  /// Activations run over the stored tile, row by row, while it is in the
  /// first-level cache: their code stands once, not once a register.
  void activate(bool partial) {
    e.forLoop(e.i64(0), e.i64(rows), 1, [&](Value row) {
      Value line = e.advance(args.output, bytes(e.mul(row, args.outputStride)));
      for (int64_t v = 0; v < isa.tileVectors; ++v) {
        Value active = partial ? mask(v) : Value();
        Value pointer = e.advance(line, v * kLanes * 4);
        Value y = emitActivation(e, spec.activation,
                                 e.loadVector(e.f32Type(), pointer, active));
        if (spec.residual) {
          Value other =
              e.advance(args.residual, bytes(e.mul(row, args.residualStride)));
          y = e.addF(y, e.loadVector(e.f32Type(),
                                     e.advance(other, v * kLanes * 4), active));
        }
        e.storeVector(y, pointer, active);
      }
    });
  }

  Emitter &e;
  const Isa &isa;
  const KernelSpec &spec;
  int64_t rows;
  KernelArgs args;
};
} // namespace

/// The arguments in the order of the kernels' signature.
static SmallVector<Value *> fields(KernelArgs &args) {
  return {&args.lhs,          &args.rhs,
          &args.output,       &args.bias,
          &args.residual,     &args.rowKeys,
          &args.prefetch,     &args.k,
          &args.lhsStride,    &args.rhsStride,
          &args.outputStride, &args.residualStride,
          &args.columns,      &args.prefetchStride};
}
static constexpr int64_t kPointerFields = 7;

static LLVM::LLVMFunctionType kernelType(MLIRContext *context) {
  KernelArgs none;
  SmallVector<Type> types;
  for (size_t i = 0; i < fields(none).size(); ++i)
    types.push_back(int64_t(i) < kPointerFields
                        ? Type(LLVM::LLVMPointerType::get(context))
                        : Type(IntegerType::get(context, 64)));
  return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
}

LLVM::LLVMFuncOp MicroKernels::kernel(const KernelSpec &spec, int64_t rows) {
  std::string name = llvm::formatv("transom.k.{0}.f32.{1}x{2}{3}", isa.name,
                                   rows, tileColumns(), spec.suffix());
  if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return existing;
  MLIRContext *context = module.getContext();
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Location loc = NameLoc::get(b.getStringAttr(name));
  auto function = b.create<LLVM::LLVMFuncOp>(loc, name, kernelType(context),
                                             LLVM::Linkage::Internal);
  setTarget(function, isa);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  KernelArgs args;
  for (auto [field, value] : llvm::zip(fields(args), function.getArguments()))
    *field = value;
  Emitter e(b, loc, isa);
  KernelBody(e, isa, spec, rows, args).emit();
  b.create<LLVM::ReturnOp>(loc, ValueRange{});
  return function;
}

LLVM::GlobalOp MicroKernels::ladder(const KernelSpec &spec) {
  std::string name =
      llvm::formatv("transom.ladder.{0}.f32{1}", isa.name, spec.suffix());
  if (auto existing = module.lookupSymbol<LLVM::GlobalOp>(name))
    return existing;
  SmallVector<LLVM::LLVMFuncOp> heights;
  for (int64_t rows = 1; rows <= maxRows(); ++rows)
    heights.push_back(kernel(spec, rows));
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  Location loc = NameLoc::get(b.getStringAttr(name));
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto table = LLVM::LLVMArrayType::get(pointer, maxRows());
  auto global =
      b.create<LLVM::GlobalOp>(loc, table, /*isConstant=*/true,
                               LLVM::Linkage::Internal, name, Attribute());
  b.setInsertionPointToStart(b.createBlock(&global.getInitializerRegion()));
  Value value = b.create<LLVM::UndefOp>(loc, table);
  for (auto [i, height] : llvm::enumerate(heights)) {
    Value address =
        b.create<LLVM::AddressOfOp>(loc, pointer, height.getSymName());
    value = b.create<LLVM::InsertValueOp>(loc, value, address,
                                          ArrayRef<int64_t>{int64_t(i)});
  }
  b.create<LLVM::ReturnOp>(loc, ValueRange{value});
  return global;
}

void MicroKernels::call(Emitter &e, const KernelSpec &spec, Value rows,
                        const KernelArgs &args) {
  LLVM::GlobalOp table = ladder(spec);
  OpBuilder &b = e.builder();
  Value base = b.create<LLVM::AddressOfOp>(e.location(), e.ptrType(),
                                           table.getSymName());
  Value target = e.loadPtr(e.advance(base, e.mul(e.sub(rows, e.i64(1)), 8)));
  KernelArgs given = args;
  SmallVector<Value> operands{target};
  for (auto [i, field] : llvm::enumerate(fields(given))) {
    if (!*field)
      *field = int64_t(i) < kPointerFields
                   ? Value(b.create<LLVM::ZeroOp>(e.location(), e.ptrType()))
                   : e.i64(0);
    operands.push_back(*field);
  }
  b.create<LLVM::CallOp>(e.location(), kernelType(b.getContext()), operands);
}
