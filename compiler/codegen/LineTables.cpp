// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function gets a subprogram through its location; the translation to LLVM IR
// then preserves the locations in its body.
#include "compiler/codegen/LineTables.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/base/CodeSymbols.h"
#include "llvm/BinaryFormat/Dwarf.h"

using namespace mlir;
using namespace transom;

/// Returns the location inside `listing` that `location` contains, or null.
static FileLineColLoc findLine(Location location, StringRef listing) {
  FileLineColLoc found;
  location->walk([&](Location inner) {
    auto line = dyn_cast<FileLineColLoc>(inner);
    if (!line || line.getFilename() != listing)
      return WalkResult::advance();
    found = line;
    return WalkResult::interrupt();
  });
  return found;
}

/// Creates the compile unit for the listing.
static LLVM::DICompileUnitAttr makeUnit(LLVM::DIFileAttr file) {
  MLIRContext *context = file.getContext();
  return LLVM::DICompileUnitAttr::get(
      DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C99,
      file, StringAttr::get(context, "transom"), /*isOptimized=*/true,
      LLVM::DIEmissionKind::Full);
}

/// Attaches the function to the unit, and gives each of its operations a line.
static void addLines(LLVM::LLVMFuncOp function, FileLineColLoc line,
                     LLVM::DICompileUnitAttr unit, StringRef listing) {
  MLIRContext *context = function.getContext();
  function.walk([&](Operation *op) {
    FileLineColLoc own = findLine(op->getLoc(), listing);
    op->setLoc(own ? own : line);
  });
  auto type = LLVM::DISubroutineTypeAttr::get(context, {});
  auto subprogram = LLVM::DISubprogramAttr::get(
      DistinctAttr::create(UnitAttr::get(context)), unit, unit.getFile(),
      function.getSymName(), function.getSymName(), unit.getFile(),
      line.getLine(), line.getLine(),
      LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized,
      type);
  function->setLoc(FusedLoc::get(context, {line}, subprogram));
}

void transom::addLineTables(ModuleOp module, StringRef listing) {
  auto unit = makeUnit(LLVM::DIFileAttr::get(module.getContext(), listing, ""));
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (function.getSymName().starts_with(StringRef(phaseSymbolPrefix)))
      if (FileLineColLoc line = findLine(function.getLoc(), listing))
        addLines(function, line, unit, listing);
}
