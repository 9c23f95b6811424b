// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Micro-kernels as functions: their names, signature, and the ladder of heights
// that calls go through.
#include "passes/lower/microkernel/MicroKernelBody.h"
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
  if (vectors)
    number("nv", vectors);
  const char *starts[] = {".zero", ".bias", ".acc"};
  text += starts[static_cast<int>(start)];
  if (!activation.empty())
    text += "_" + activation;
  if (!gate.empty())
    text += "_gate_" + gate;
  if (rhsRows)
    text += "_rows";
  if (rhsInt8)
    text += "_int8";
  if (columnScales)
    text += "_scaled";
  if (outBf16)
    text += "_bf16";
  if (residual)
    text += "_residual";
  const char *stores[] = {"", "_keys", "_scores", "_quotients"};
  text += stores[static_cast<int>(store)];
  if (scale != 1)
    text += llvm::formatv("{0:e}", scale).str();
  if (partialRhs)
    text += "_partial";
  if (prefetch)
    text += "_prefetch";
  return text;
}

void transom::lower::setTarget(LLVM::LLVMFuncOp function,
                               const InstructionSet &isa) {
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

/// The arguments in the order of the kernels' signature.
static SmallVector<Value *> fields(KernelArgs &args) {
  return {&args.lhs,
          &args.rhs,
          &args.output,
          &args.bias,
          &args.residual,
          &args.perRow,
          &args.prefetch,
          &args.prefetchMore,
          &args.k,
          &args.lhsStride,
          &args.rhsStride,
          &args.outputStride,
          &args.residualStride,
          &args.columns,
          &args.prefetchStride,
          &args.prefetchMoreStride};
}
static constexpr int64_t kPointerFields = 8;

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
  std::string name = llvm::formatv("transom.k.{0}.{1}.{2}x{3}{4}", isa.name,
                                   spec.bf16 ? "bf16" : "f32", rows,
                                   spec.vectorsOf(isa) * kLanes, spec.suffix());
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
  emitKernelBody(e, spec, rows, args);
  b.create<LLVM::ReturnOp>(loc, ValueRange{});
  return function;
}

LLVM::GlobalOp MicroKernels::ladder(const KernelSpec &spec) {
  std::string name = llvm::formatv("transom.ladder.{0}.{1}{2}", isa.name,
                                   spec.bf16 ? "bf16" : "f32", spec.suffix());
  if (auto existing = module.lookupSymbol<LLVM::GlobalOp>(name))
    return existing;
  SmallVector<LLVM::LLVMFuncOp> heights;
  for (int64_t rows = 1; rows <= maxRows(spec.bf16); ++rows)
    heights.push_back(kernel(spec, rows));
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  Location loc = NameLoc::get(b.getStringAttr(name));
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto table = LLVM::LLVMArrayType::get(pointer, maxRows(spec.bf16));
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
