// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Micro-kernels as functions: their names and signature, and the table of
// kernels by MR through which they are called.
#include "passes/lower/microkernel/MicroKernelBody.h"
#include "runtime/base/CodeSymbols.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace transom::lower;

std::string KernelSpec::getSuffix() const {
  std::string text;
  // Sizes and strides.
  auto number = [&](StringRef label, std::optional<int64_t> value) {
    if (value)
      text += llvm::formatv(".{0}{1}", label, *value).str();
  };
  number("k", k);
  number("lda", lhsStride);
  number("lds", lhsScaleStride);
  number("ldb", rhsStride);
  if (vectors)
    number("nv", vectors);
  // Initial value, epilogue and storage.
  const char *inits[] = {".zero", ".bias", ".acc"};
  text += inits[static_cast<int>(init)];
  if (activation)
    text += "_" + getActivationName(activation);
  if (glu)
    text += "_glu_" + getActivationName(glu);
  text += rhs->getSuffix();
  if (hasColumnScales())
    text += "_scaled";
  if (out->getFormat().element != StorageType::F32)
    text += std::string("_") + getStorageName(out->getFormat().element);
  if (residual)
    text += "_residual";
  const char *stores[] = {"", "_keys", "_scores", "_normalize"};
  text += stores[static_cast<int>(store)];
  if (scale != 1) // nine digits distinguish all f32 values
    text += llvm::formatv("{0:e8}", static_cast<float>(scale)).str();
  if (partialRhs)
    text += "_partial";
  if (prefetch)
    text += "_prefetch";
  if (amx)
    text += "_amx";
  return text;
}

void transom::lower::setTargetAttributes(LLVM::LLVMFuncOp function,
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

/// The type at the start of kernel names.
static const char *getTypeName(const KernelSpec &spec) {
  return getStorageName(spec.rhs->getLhs().getFormat().element);
}

/// Visits the arguments in signature order: first the pointers, then the
/// integers.
template <typename Pointer, typename Integer>
static void visitArguments(KernelArgs &args, Pointer pointer, Integer integer) {
  for (Value *field :
       {&args.lhs, &args.rhs, &args.output, &args.bias, &args.residual,
        &args.lhsScales, &args.rhsScales, &args.perRow, &args.tileConfig,
        &args.prefetch, &args.prefetchMore})
    pointer(*field);
  for (Index *field :
       {&args.k, &args.lhsStride, &args.rhsStride, &args.outputStride,
        &args.residualStride, &args.columns, &args.rows, &args.prefetchStride,
        &args.prefetchMoreStride})
    integer(*field);
}

static LLVM::LLVMFunctionType getKernelType(MLIRContext *context) {
  KernelArgs args;
  SmallVector<Type> types;
  visitArguments(
      args,
      [&](Value &) { types.push_back(LLVM::LLVMPointerType::get(context)); },
      [&](Index &) { types.push_back(IntegerType::get(context, 64)); });
  return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
}

LLVM::LLVMFuncOp MicroKernels::getKernel(const KernelSpec &spec, int64_t mr) {
  std::string name = llvm::formatv(
      "{0}{1}.{2}.{3}x{4}{5}", kernelSymbolPrefix, isa.name, getTypeName(spec),
      mr, spec.getVectors(isa) * kLanes, spec.getSuffix());
  if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return existing;

  // Create the function.
  MLIRContext *context = module.getContext();
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Location loc = NameLoc::get(b.getStringAttr(name));
  auto function = b.create<LLVM::LLVMFuncOp>(loc, name, getKernelType(context),
                                             LLVM::Linkage::Internal);
  setTargetAttributes(function, isa);
  ++numKernels;

  // Emit its body.
  b.setInsertionPointToStart(function.addEntryBlock(b));
  CodeEmitter e(b, loc, isa);
  KernelArgs args;
  auto next = function.getArguments().begin();
  visitArguments(
      args, [&](Value &field) { field = *next++; },
      [&](Index &field) { field = e.toIndex(*next++); });
  emitKernelBody(e, spec, mr, args);
  b.create<LLVM::ReturnOp>(loc, ValueRange{});
  return function;
}

LLVM::GlobalOp MicroKernels::getKernelsByMr(const KernelSpec &spec) {
  std::string name = llvm::formatv("transom.kernels_by_mr.{0}.{1}{2}", isa.name,
                                   getTypeName(spec), spec.getSuffix());
  if (auto existing = module.lookupSymbol<LLVM::GlobalOp>(name))
    return existing;
  int64_t maxMr = getMaxMr(*spec.rhs);
  SmallVector<LLVM::LLVMFuncOp> kernels;
  for (int64_t mr = 1; mr <= maxMr; ++mr)
    kernels.push_back(getKernel(spec, mr));

  // A constant array with their addresses.
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  Location loc = NameLoc::get(b.getStringAttr(name));
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto type = LLVM::LLVMArrayType::get(pointer, maxMr);
  auto table =
      b.create<LLVM::GlobalOp>(loc, type, /*isConstant=*/true,
                               LLVM::Linkage::Internal, name, Attribute());
  b.setInsertionPointToStart(b.createBlock(&table.getInitializerRegion()));
  Value value = b.create<LLVM::UndefOp>(loc, type);
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    Value address =
        b.create<LLVM::AddressOfOp>(loc, pointer, kernel.getSymName());
    value = b.create<LLVM::InsertValueOp>(loc, value, address,
                                          ArrayRef<int64_t>{int64_t(i)});
  }
  b.create<LLVM::ReturnOp>(loc, ValueRange{value});
  return table;
}

Value MicroKernels::getAddress(CodeEmitter &e, const KernelSpec &spec,
                               Index rows) {
  auto makeAddress = [&](StringRef symbol) {
    return e.builder().create<LLVM::AddressOfOp>(e.location(), e.ptrType(),
                                                 symbol);
  };
  auto getByMr = [&](const KernelSpec &spec, Index mr) {
    Value table = makeAddress(getKernelsByMr(spec).getSymName());
    return e.loadPtr(e.advance(table, (mr - 1) * 8));
  };
  if (!spec.amx)
    return getByMr(spec, rows);
  Value tiles = makeAddress(getKernel(spec, amxRows).getSymName());
  if (!spec.rhs->getFormat().isGrouped())
    return tiles;
  KernelSpec ofFew = spec;
  ofFew.amx = false;
  const int64_t few = getMaxMr(*spec.rhs);
  return e.select(rows <= few, getByMr(ofFew, min(rows, few)), tiles);
}

void MicroKernels::call(CodeEmitter &e, const KernelSpec &spec, Index rows,
                        const KernelArgs &args) {
  // Unused arguments are null or zero.
  OpBuilder &b = e.builder();
  KernelArgs given = args;
  given.rows = rows;
  SmallVector<Value> operands{getAddress(e, spec, rows)};
  visitArguments(
      given,
      [&](Value &field) {
        operands.push_back(
            field ? field
                  : Value(b.create<LLVM::ZeroOp>(e.location(), e.ptrType())));
      },
      [&](Index &field) { operands.push_back(field ? field : e.i64(0)); });
  b.create<LLVM::CallOp>(e.location(), getKernelType(b.getContext()), operands);
}
