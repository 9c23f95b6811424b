// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From planned phases to functions: each phase becomes one function that all
// parts run, then the loops and vectors become the LLVM dialect.
#include "passes/lower/Lower.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/lower/Phase.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

void lower::registerLoweringDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect,
                  LLVM::LLVMDialect, scf::SCFDialect, vector::VectorDialect>();
}

SmallVector<std::string> lower::phaseNames(ModuleOp module) {
  SmallVector<std::string> names;
  module.walk([&](kern::PhaseOp phase) {
    if (!phase.getCall())
      names.push_back(phase.getName().str());
  });
  return names;
}

std::string lower::phaseSymbol(const InstructionSet &isa, StringRef phase) {
  return (llvm::Twine("transom.p.") + isa.name + "." + phase).str();
}

/// Emits one operation of a phase.
static LogicalResult lowerOp(PhaseEmitter &e, Operation &op) {
  e.setLocation(op.getLoc());
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
#define LOWER(OP)                                                              \
  .Case<kern::OP##Op>([&](kern::OP##Op o) {                                    \
    lower##OP(e, o);                                                           \
    return success();                                                          \
  })
      LOWER(Gemm) LOWER(BatchMatmul) LOWER(Attention) LOWER(PackKeys)
          LOWER(Norm) LOWER(Cast) LOWER(Softmax) LOWER(Embedding) LOWER(
              Elementwise) LOWER(Positions) LOWER(Columns) LOWER(GatherRows)
              LOWER(ScatterRows) LOWER(Pool) LOWER(Transpose) LOWER(Copy)
                  LOWER(Gather) LOWER(RopeTable) LOWER(Rope) LOWER(Append)
#undef LOWER
                      .Default([](Operation *other) {
                        return other->emitOpError("has no lowering to vectors");
                      });
}

static LogicalResult lowerPhase(kern::PhaseOp phase, const Program &program,
                                const InstructionSet &isa, ModuleOp target,
                                MicroKernels &kernels) {
  MLIRContext *context = target.getContext();
  OpBuilder b = OpBuilder::atBlockEnd(target.getBody());
  Type pointer = LLVM::LLVMPointerType::get(context), word = b.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, pointer, word, word});
  auto function = b.create<LLVM::LLVMFuncOp>(
      phase.getLoc(), phaseSymbol(isa, phase.getName()), type);
  setTarget(function, isa);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  PhaseEmitter e(b, phase.getLoc(), program,
                 phase->getParentOfType<func::FuncOp>(), function, kernels);
  for (Operation &op : phase.getBody().front())
    if (failed(lowerOp(e, op)))
      return failure();
  b.create<LLVM::ReturnOp>(phase.getLoc(), ValueRange{});
  return success();
}

static LogicalResult convertToLLVM(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.enableVerifier(false); // verified once, at the end
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createConvertSCFToCFPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  return failed(passes.run(module)) ? failure() : verify(module);
}

FailureOr<OwningOpRef<ModuleOp>> lower::lowerToLLVM(ModuleOp module,
                                                    const InstructionSet &isa) {
  OwningOpRef<ModuleOp> target = ModuleOp::create(module.getLoc());
  Program program(module);
  MicroKernels kernels(*target, isa);
  LogicalResult lowered = success();
  module.walk([&](kern::PhaseOp phase) {
    if (succeeded(lowered) && !phase.getCall())
      lowered = lowerPhase(phase, program, isa, *target, kernels);
  });
  if (failed(lowered) || failed(convertToLLVM(*target)))
    return failure();
  return target;
}
