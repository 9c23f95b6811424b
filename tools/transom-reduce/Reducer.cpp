// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes are tried from large to small: drop a function or another symbol,
// drop a function result, replace an op by an argument or an operand, drop an
// op or an argument without uses.
#include "tools/transom-reduce/Reducer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace transom {

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

/// Erases a function, a weight, or another symbol. If the symbol has uses, the
/// module does not verify.
static bool eraseSymbol(Operation *op) {
  if (!isa<SymbolOpInterface>(op) || isa<ModuleOp>(op))
    return false;
  op->erase();
  return true;
}

/// Erases the last result of a function.
static bool eraseResult(Operation *op) {
  auto function = dyn_cast<func::FuncOp>(op);
  if (!function || function.getNumResults() == 0 || function.isExternal())
    return false;
  const unsigned last = function.getNumResults() - 1;
  function.getBody().back().getTerminator()->eraseOperand(last);
  function.eraseResult(last);
  return true;
}

/// Replaces an op's results by new arguments of its function.
static bool replaceByArguments(Operation *op) {
  auto function = dyn_cast_or_null<func::FuncOp>(op->getParentOp());
  if (!function || op->getNumResults() == 0)
    return false;
  for (Value result : op->getResults()) {
    const unsigned last = function.getNumArguments();
    function.insertArgument(last, result.getType(), {}, op->getLoc());
    result.replaceAllUsesWith(function.getArgument(last));
  }
  op->erase();
  return true;
}

/// Replaces an op's result by an operand with the same type.
static bool replaceByOperand(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType()) {
      op->getResult(0).replaceAllUsesWith(operand);
      op->erase();
      return true;
    }
  return false;
}

static bool eraseUnused(Operation *op) {
  if (!op->use_empty() || op->hasTrait<OpTrait::IsTerminator>() ||
      isa<ModuleOp>(op))
    return false;
  op->erase();
  return true;
}

/// Erases unused function arguments.
static bool eraseArguments(Operation *op) {
  auto function = dyn_cast<func::FuncOp>(op);
  if (!function || function.isExternal())
    return false;
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  function.eraseArguments(unused);
  return unused.any();
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

static size_t countOperations(ModuleOp module) {
  size_t count = 0;
  module.walk([&](Operation *) { ++count; });
  return count;
}

/// Returns the op with a number in `walk` order.
static Operation *getOperation(ModuleOp module, size_t number) {
  Operation *found = nullptr;
  module.walk([&](Operation *op) {
    if (number-- > 0)
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

/// Like `verify`, without a message.
static bool isValid(ModuleOp module) {
  ScopedDiagnosticHandler silent(module.getContext(),
                                 [](Diagnostic &) { return success(); });
  return succeeded(verify(module));
}

Reducer::Reducer(Reproducer &reproducer, std::function<void(size_t)> progress)
    : reproducer(reproducer), progress(std::move(progress)),
      failure(getFailure(*reproducer.module, reproducer.pipeline)) {}

bool Reducer::tryAt(size_t number, Change change) {
  OwningOpRef<ModuleOp> candidate(reproducer.module->clone());
  Operation *op = getOperation(*candidate, number);
  if (!op || !change(op) || !isValid(*candidate) ||
      getFailure(*candidate, reproducer.pipeline) != failure)
    return false;
  reproducer.module = std::move(candidate);
  return true;
}

bool Reducer::tryEverywhere(Change change) {
  bool changed = false;
  for (size_t number = countOperations(*reproducer.module); number-- > 0;)
    changed |= tryAt(number, change);
  return changed;
}

Result<void> Reducer::run() {
  if (failure.empty())
    return rejected("the pipeline '" + reproducer.pipeline +
                    "' does not fail on the module");
  const Change changes[] = {eraseSymbol,      eraseResult, replaceByArguments,
                            replaceByOperand, eraseUnused, eraseArguments};
  bool changed = true;
  while (changed) {
    changed = false;
    for (Change change : changes)
      changed |= tryEverywhere(change);
    progress(countOperations(*reproducer.module));
  }
  return {};
}

} // namespace transom
