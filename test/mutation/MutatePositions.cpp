// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of relative positions: those of later and of earlier keys exchanged,
// and those of the next distance.
#include "mlir/IR/SymbolTable.h"
#include "runtime/abi/Layout.h"
#include "test/mutation/CodeMutations.h"
#include <algorithm>

using namespace mlir;

namespace transom::testing {

/// Lets an operation use a table with other entries.
static Operation *setEntries(LLVM::AddressOfOp address, LLVM::GlobalOp table,
                             ArrayRef<int32_t> entries) {
  auto old = cast<DenseElementsAttr>(*table.getValue());
  auto changed = cast<LLVM::GlobalOp>(OpBuilder(table).clone(*table));
  changed.setSymName((table.getSymName() + ".changed").str());
  changed.setValueAttr(
      DenseElementsAttr::get(cast<RankedTensorType>(old.getType()), entries));
  address.setGlobalName(changed.getSymName());
  return address;
}

void changePositions(ModuleOp code, const LiveCode &live, Edits &edits) {
  SymbolTable symbols(code);
  code.walk([&](LLVM::AddressOfOp address) {
    auto table = symbols.lookup<LLVM::GlobalOp>(address.getGlobalName());
    if (!live.contains(address) || !table ||
        !table.getSymName().starts_with("transom.positions."))
      return;
    const auto entries = llvm::to_vector(
        cast<DenseElementsAttr>(*table.getValue()).getValues<int32_t>());
    // Products need to know only which panels their calls have positions in.
    const bool isProduct =
        address->getParentOfType<LLVM::LLVMFuncOp>().getName().contains(
            ".head_gemm.");
    if (isProduct && *llvm::max_element(entries) < panelWidth)
      return;
    edits.push_back({address, "spans exchanged", [=] {
                       SmallVector<int32_t> changed(llvm::reverse(entries));
                       return setEntries(address, table, changed);
                     }});
    // Attention reads only the ends of entries that rise one by one.
    if (isProduct)
      return;
    edits.push_back({address, "positions of the next distance", [=] {
                       SmallVector<int32_t> changed(entries);
                       std::rotate(changed.begin(), changed.begin() + 1,
                                   changed.end());
                       return setEntries(address, table, changed);
                     }});
  });
}

} // namespace transom::testing
