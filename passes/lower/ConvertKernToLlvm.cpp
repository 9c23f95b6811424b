// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each phase becomes one function that all workers run. Upstream conversions
// then lower its loops and vectors to the LLVM dialect.
#include "dialects/kern/PhaseLocation.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Remarks.h"
#include "passes/lower/Passes.h"
#include "passes/lower/SharedOperations.h"
#include "passes/lower/ops/LowerOps.h"
#include "runtime/base/InstructionSet.h"
#include "runtime/base/Suggest.h"

#define DEBUG_TYPE "convert-kern-to-llvm"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

namespace transom {
#define GEN_PASS_DEF_CONVERTKERNTOLLVMPASS
#include "passes/lower/Passes.h.inc"
} // namespace transom

/// Checks that the weight formats in an operation have a lowering.
static LogicalResult verifyFormats(Operation &op) {
  for (Type type : op.getOperandTypes()) {
    auto weight = dyn_cast<kern::WeightType>(type);
    if (!weight || OperandLowering::find(weight.getFormat().getStorage()))
      continue;
    return op.emitOpError("weight in format '")
           << weight.getFormat().getStorage().str()
           << "' is not supported; supported: "
           << OperandLowering::getSupportedNames();
  }
  return success();
}

/// The lowerings for all operations.
static Lowerings getLowerings() {
  Lowerings lowerings;
  addAttentionLowerings(lowerings);
  addBatchMatmulLowerings(lowerings);
  addCacheLowerings(lowerings);
  addElementwiseLowerings(lowerings);
  addGemmLowerings(lowerings);
  addGroupGemmLowerings(lowerings);
  addGroupLowerings(lowerings);
  addHeadGemmLowerings(lowerings);
  addMoveLowerings(lowerings);
  addPackKeysLowerings(lowerings);
  addRopeLowerings(lowerings);
  addRowLowerings(lowerings);
  return lowerings;
}

/// Emits one operation in a phase.
static LogicalResult lowerOperation(const Lowerings &lowerings, PhaseEmitter &e,
                                    Operation &op) {
  if (failed(verifyFormats(op)))
    return failure();
  Lowerings::Function lower = lowerings.lookup(op);
  if (!lower)
    return op.emitOpError("has no lowering to vectors");
  e.setLocation(op.getLoc());
  lower(e, op);
  return success();
}

/// Emits the phase function; `lower` emits each operation.
static LogicalResult lowerPhase(kern::PhaseOp phase, const ModuleInfo &info,
                                MicroKernels &kernels, ModuleOp target,
                                SharedOperations::Lower lower) {
  // void (frame, layer offsets, worker, num_workers)
  MLIRContext *context = target.getContext();
  OpBuilder b = OpBuilder::atBlockEnd(target.getBody());
  Type pointer = LLVM::LLVMPointerType::get(context), word = b.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, pointer, word, word});
  auto function = b.create<LLVM::LLVMFuncOp>(
      phase.getLoc(), kern::getPhaseSymbol(kernels.getIsa().name, phase), type);
  setTargetAttributes(function, kernels.getIsa());

  b.setInsertionPointToStart(function.addEntryBlock(b));
  PhaseEmitter e(b, phase.getLoc(), info,
                 phase->getParentOfType<func::FuncOp>(), function, kernels);
  for (Operation &op : phase.getBody().front())
    if (failed(lower(e, op)))
      return failure();
  b.create<LLVM::ReturnOp>(phase.getLoc(), ValueRange{});
  return success();
}

namespace {
struct ConvertKernToLlvm
    : transom::impl::ConvertKernToLlvmPassBase<ConvertKernToLlvm> {
  using Base::Base;

  void runOnOperation() override {
    const InstructionSet *target = findInstructionSet(isa);
    if (!target) {
      getOperation().emitError("unsupported instruction set '")
          << isa << "'; supported: " << joinNames(getInstructionSetNames());
      return signalPassFailure();
    }
    OwningOpRef<ModuleOp> code = ModuleOp::create(getOperation().getLoc());
    Remarks remarks(getOperation());
    if (failed(emitCode(*target, *code, remarks)))
      return signalPassFailure();
    replaceModule(*code);
  }

private:
  /// Emits functions for all phases, except calls to a library.
  LogicalResult emitCode(const InstructionSet &target, ModuleOp code,
                         Remarks &remarks) {
    ModuleInfo info(getOperation(), remarks);
    MicroKernels kernels(code, target);
    std::optional<SharedOperations> shared;
    const int64_t operations = countOperations();
    if (operations >= shareFrom)
      shared.emplace(info, code, kernels);

    // In a large module, phases call their operations.
    Lowerings lowerings = getLowerings();
    auto emit = [&](PhaseEmitter &e, Operation &op) {
      return lowerOperation(lowerings, e, op);
    };
    auto emitOrCall = [&](PhaseEmitter &e, Operation &op) {
      return shared ? shared->emitCall(e, op, emit) : emit(e, op);
    };
    WalkResult result = getOperation().walk([&](kern::PhaseOp phase) {
      if (phase.getCall())
        return WalkResult::advance();
      ++numPhases;
      return WalkResult(lowerPhase(phase, info, kernels, code, emitOrCall));
    });
    // Count and report.
    numShared = shared ? shared->getNumFunctions() : 0;
    numKernels = kernels.getNumKernels();
    RemarkReason sharing(RemarkId::OperationsHaveOwnCode,
                         {{"isa", target.name}, {"operations", operations}});
    if (shared) {
      sharing.id = RemarkId::OperationsShareCode;
      sharing.args.emplace_back("functions", shared->getNumFunctions());
    } else {
      sharing.args.emplace_back("limit", int64_t(shareFrom));
    }
    remarks.report(getOperation(), sharing);
    return failure(result.wasInterrupted());
  }

  /// The operation count in all phases.
  int64_t countOperations() {
    int64_t count = 0;
    getOperation().walk<WalkOrder::PreOrder>([&](kern::PhaseOp phase) {
      count += int64_t(phase.getBody().front().getOperations().size());
      return WalkResult::skip();
    });
    return count;
  }

  /// Replaces the module contents by the code. No attribute is preserved; the
  /// lowering's remarks are added afterwards.
  void replaceModule(ModuleOp code) {
    ModuleOp module = getOperation();
    module->setDiscardableAttrs(ArrayRef<NamedAttribute>{});
    module.getBody()->clear();
    module.getBody()->getOperations().splice(module.getBody()->end(),
                                             code.getBody()->getOperations());
  }
};
} // namespace
