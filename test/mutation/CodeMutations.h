// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults of lowering, planted in lowered code: loops, arithmetic and vectors of
// phases and micro-kernels before they become basic blocks.
#pragma once
#include "test/mutation/LiveCode.h"
#include "test/mutation/Mutations.h"
#include <set>

namespace transom::testing {

/// A kind of fault.
struct CodeMutationKind {
  const char *name;
  /// Adds the changes of this kind to code that has an influence on memory.
  void (*collect)(mlir::ModuleOp code, const LiveCode &live, Edits &edits);
};

/// All kinds.
llvm::ArrayRef<CodeMutationKind> getCodeMutationKinds();

/// A fault that is in a module now.
struct PlantedFault {
  Planted edit;
  std::string function;         ///< that has it
  std::set<std::string> phases; ///< functions of phases that run it
};

/// Plants a fault; nothing where the code has no place for it. Changes,
/// functions and places are chosen evenly, in this order.
std::optional<PlantedFault>
plantFault(mlir::ModuleOp code, const CodeMutationKind &kind, Random &random);

/// Plants code that stops the program where plantFault() changes something.
void plantTrap(mlir::ModuleOp code, const CodeMutationKind &kind,
               Random &random);

/// Plants code that stops the program where plantFault() makes an integer
/// another one. False for a fault of another form.
bool plantTrapWhereDifferent(mlir::ModuleOp code, const CodeMutationKind &kind,
                             Random &random);

/// Changes only the numbers that differ with the fault of plantFault(), all to
/// one number; or what a store, or the memory accesses of an address, have.
/// False for a fault of another form.
bool plantNumber(mlir::ModuleOp code, const CodeMutationKind &kind,
                 Random &random, double number);

/// Sources of the kinds.
void shiftAddresses(mlir::ModuleOp, const LiveCode &, Edits &);
void changeStrides(mlir::ModuleOp, const LiveCode &, Edits &);
void changeTails(mlir::ModuleOp, const LiveCode &, Edits &);
void changeMasks(mlir::ModuleOp, const LiveCode &, Edits &);
void changeEpilogues(mlir::ModuleOp, const LiveCode &, Edits &);
void writePrefetched(mlir::ModuleOp, const LiveCode &, Edits &);
void exchangeRegisters(mlir::ModuleOp, const LiveCode &, Edits &);
void startStale(mlir::ModuleOp, const LiveCode &, Edits &);
void changeNumbersOfCode(mlir::ModuleOp, const LiveCode &, Edits &);
void changeLanes(mlir::ModuleOp, const LiveCode &, Edits &);
void roundTwice(mlir::ModuleOp, const LiveCode &, Edits &);
void leaveOutStores(mlir::ModuleOp, const LiveCode &, Edits &);
void changePositions(mlir::ModuleOp, const LiveCode &, Edits &);
void changeTiles(mlir::ModuleOp, const LiveCode &, Edits &);

/// Lets all numbers of the register that an instruction loads, adds to or
/// stores be one number. False for other instructions.
bool replaceTile(mlir::LLVM::CallIntrinsicOp op, double number);

/// Lets all positions that an operation reads be one, which the number chooses:
/// that of a far later key, of a far earlier key, or of the query itself. False
/// for operations that read no table of positions.
bool replacePositions(mlir::Operation *op, double number);

} // namespace transom::testing
