// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Relative position tables: later and earlier keys exchanged, and entries for
// the next distance.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "runtime/abi/Layout.h"
#include "test/mutation/CodeMutations.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace transom::testing {

/// Makes an access read a table with other entries.
static Operation *setEntries(OpOperand &address, LLVM::GlobalOp table,
                             ArrayRef<int32_t> entries) {
  auto old = cast<DenseElementsAttr>(*table.getValue());
  auto changed = cast<LLVM::GlobalOp>(OpBuilder(table).clone(*table));
  changed.setSymName((table.getSymName() + ".changed").str());
  changed.setValueAttr(
      DenseElementsAttr::get(cast<RankedTensorType>(old.getType()), entries));
  // Repeats the address computation from the other table on.
  SmallVector<Operation *> steps;
  for (Operation *op = address.get().getDefiningOp(); op;
       op = isa<LLVM::GEPOp>(op) ? op->getOperand(0).getDefiningOp() : nullptr)
    steps.push_back(op);
  OpBuilder b(address.getOwner());
  IRMapping copies;
  for (Operation *step : llvm::reverse(steps)) {
    Operation *copy = b.clone(*step, copies);
    if (auto start = dyn_cast<LLVM::AddressOfOp>(copy))
      start.setGlobalName(changed.getSymName());
  }
  address.set(copies.lookup(address.get()));
  return address.getOwner();
}

/// Adds the memory accesses at addresses that are computed from this one.
static void findAccesses(Value address, SmallVectorImpl<OpOperand *> &found) {
  for (OpOperand &use : address.getUses()) {
    if (isa<LLVM::GEPOp>(use.getOwner()))
      findAccesses(use.getOwner()->getResult(0), found);
    else
      found.push_back(&use);
  }
}

/// The table at which an address computation starts, if it is a position table.
static LLVM::GlobalOp findPositions(Value address, const SymbolTable &symbols) {
  while (auto step = address.getDefiningOp<LLVM::GEPOp>())
    address = step.getBase();
  auto start = address.getDefiningOp<LLVM::AddressOfOp>();
  return start && start.getGlobalName().starts_with("transom.positions.")
             ? symbols.lookup<LLVM::GlobalOp>(start.getGlobalName())
             : LLVM::GlobalOp();
}

bool replacePositions(Operation *op, double number) {
  if (op->getNumOperands() == 0 || op->getNumResults() != 1)
    return false;
  auto table = findPositions(op->getOperand(0),
                             SymbolTable(op->getParentOfType<ModuleOp>()));
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  if (!table || !type)
    return false;
  const auto entries =
      cast<DenseElementsAttr>(*table.getValue()).getValues<int32_t>();
  const auto last = static_cast<int64_t>(entries.size()) - 1;
  // The entries rise: the first, the last and the middle one.
  const int64_t index = std::isnan(number) ? 0 : number > 0 ? last : last / 2;
  OpBuilder b(op);
  op->getResult(0).replaceAllUsesWith(b.create<arith::ConstantOp>(
      op->getLoc(), DenseElementsAttr::get(type, entries[index])));
  return true;
}

void changePositions(ModuleOp code, const LiveCode &live, Edits &edits) {
  SymbolTable symbols(code);
  code.walk([&](LLVM::AddressOfOp address) {
    auto table = findPositions(address, symbols);
    if (!live.contains(address) || !table)
      return;
    const auto entries = llvm::to_vector(
        cast<DenseElementsAttr>(*table.getValue()).getValues<int32_t>());
    // Products use only the panel range in which their calls have positions.
    const bool isProduct =
        address->getParentOfType<LLVM::LLVMFuncOp>().getName().contains(
            ".head_gemm.");
    if (isProduct && *llvm::max_element(entries) < panelWidth)
      return;
    SmallVector<OpOperand *> accesses;
    findAccesses(address, accesses);
    for (OpOperand *access : accesses) {
      Operation *op = access->getOwner();
      if (!live.contains(op))
        continue;
      edits.push_back({op, "spans exchanged", [=] {
                         SmallVector<int32_t> changed(llvm::reverse(entries));
                         return setEntries(*access, table, changed);
                       }});
      // Attention reads only the ends if entries rise one by one.
      if (isProduct)
        continue;
      edits.push_back({op, "positions of the next distance", [=] {
                         SmallVector<int32_t> changed(entries);
                         std::rotate(changed.begin(), changed.begin() + 1,
                                     changed.end());
                         return setEntries(*access, table, changed);
                       }});
    }
  });
}

} // namespace transom::testing
