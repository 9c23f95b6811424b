// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses a worklist; a call is visited again for each argument that its function
// uses.
#include "test/mutation/LiveCode.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace transom::testing {

/// The global constant from which a pointer was loaded, if any.
static LLVM::GlobalOp findTable(Value callee, const SymbolTable &symbols) {
  Operation *op = callee.getDefiningOp();
  while (op && isa<LLVM::LoadOp, LLVM::GEPOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto address = dyn_cast_or_null<LLVM::AddressOfOp>(op);
  return address ? symbols.lookup<LLVM::GlobalOp>(address.getGlobalName())
                 : LLVM::GlobalOp();
}

static SmallVector<LLVM::LLVMFuncOp> findCallees(LLVM::CallOp call,
                                                 const SymbolTable &symbols) {
  SmallVector<LLVM::LLVMFuncOp> found;
  if (auto name = call.getCallee()) {
    if (auto function = symbols.lookup<LLVM::LLVMFuncOp>(*name))
      found.push_back(function);
  } else if (auto own = call.getOperand(0).getDefiningOp<LLVM::AddressOfOp>();
             own && symbols.lookup<LLVM::LLVMFuncOp>(own.getGlobalName())) {
    found.push_back(symbols.lookup<LLVM::LLVMFuncOp>(own.getGlobalName()));
  } else if (auto table = findTable(call.getOperand(0), symbols)) {
    table.walk([&](LLVM::AddressOfOp address) {
      if (auto function =
              symbols.lookup<LLVM::LLVMFuncOp>(address.getGlobalName()))
        found.push_back(function);
    });
  }
  return found;
}

/// Returns true for an instruction that changes memory, or registers that no
/// value names, such as tiles.
static bool isWithoutResult(LLVM::CallIntrinsicOp op) {
  return op && op->getNumResults() == 0;
}

LiveCode::LiveCode(ModuleOp module) : module(module) {
  SymbolTable symbols(module);
  module.walk(
      [&](LLVM::CallOp call) { callees[call] = findCallees(call, symbols); });
  module.walk([&](Operation *op) {
    if (isa<LLVM::StoreOp, LLVM::MaskedStoreOp, LLVM::AtomicRMWOp,
            LLVM::AtomicCmpXchgOp, LLVM::CallOp>(op) ||
        isWithoutResult(dyn_cast<LLVM::CallIntrinsicOp>(op)))
      add(op);
  });
  visit();
}

SmallVector<LLVM::LLVMFuncOp> LiveCode::getCallees(LLVM::CallOp call) const {
  return callees.lookup(call);
}

DenseSet<Operation *> LiveCode::getCallers(LLVM::LLVMFuncOp function) const {
  DenseSet<Operation *> reached{function};
  for (size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const auto &[call, functions] : callees)
      if (llvm::any_of(functions, [&](LLVM::LLVMFuncOp callee) {
            return reached.contains(callee);
          }))
        reached.insert(call->getParentOfType<LLVM::LLVMFuncOp>());
  }
  return reached;
}

void LiveCode::add(Value value) {
  if (values.insert(value).second)
    waiting.push_back(value);
}

/// An operation with all its operands, and the conditions under which it runs.
void LiveCode::add(Operation *op) {
  if (!operations.insert(op).second)
    return;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp()) {
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      for (Value bound :
           {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        add(bound);
    if (auto choice = dyn_cast<scf::IfOp>(parent))
      add(choice.getCondition());
    if (isa<scf::ForOp, scf::IfOp>(parent))
      operations.insert(parent);
  }
  if (auto call = dyn_cast<LLVM::CallOp>(op))
    return addCall(call);
  if (!isa<scf::ForOp, scf::IfOp>(op))
    for (Value operand : op->getOperands())
      add(operand);
}

/// Arguments that no callee uses are left alone.
void LiveCode::addCall(LLVM::CallOp call) {
  const bool isIndirect = !call.getCallee();
  ArrayRef<LLVM::LLVMFuncOp> functions = callees[call];
  for (OpOperand &operand : call->getOpOperands()) {
    const unsigned i = operand.getOperandNumber();
    if ((isIndirect && i == 0) || functions.empty() ||
        llvm::any_of(functions, [&](LLVM::LLVMFuncOp function) {
          return function.isExternal() ||
                 isUsed(function.getArgument(i - isIndirect));
        }))
      add(operand.get());
  }
}

void LiveCode::addResult(OpResult result) {
  Operation *op = result.getOwner();
  const unsigned number = result.getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    add(op);
    for (Value bound :
         {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      add(bound);
    add(loop.getInitArgs()[number]);
    add(loop.getRegionIterArgs()[number]);
    return add(loop.getYieldedValues()[number]);
  }
  add(op);
  if (auto choice = dyn_cast<scf::IfOp>(op)) {
    add(choice.getCondition());
    add(choice.thenYield().getOperand(number));
    add(choice.elseYield().getOperand(number));
  }
}

void LiveCode::addArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    if (argument == loop.getInductionVar()) {
      for (Value bound :
           {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        add(bound);
      return;
    }
    return add(loop.getResult(argument.getArgNumber() - 1));
  }
  auto function = dyn_cast<LLVM::LLVMFuncOp>(parent);
  for (const auto &[call, functions] : callees)
    if (function && llvm::is_contained(functions, function))
      addCall(cast<LLVM::CallOp>(call));
}

void LiveCode::visit() {
  while (!waiting.empty()) {
    Value value = waiting.pop_back_val();
    if (auto result = dyn_cast<OpResult>(value))
      addResult(result);
    else
      addArgument(cast<BlockArgument>(value));
  }
}

} // namespace transom::testing
