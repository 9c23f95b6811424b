// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowering faults, planted in lowered code: loops, arithmetic and vectors in
// phases and micro-kernels before they become basic blocks.
#pragma once
#include "test/mutation/LiveCode.h"
#include "test/mutation/Mutations.h"
#include <set>

namespace transom::testing {

/// A fault kind.
struct CodeMutationKind {
  const char *name;
  /// Adds changes for this kind to code that influences memory.
  void (*collect)(mlir::ModuleOp code, const LiveCode &live, Edits &edits);
};

/// All kinds.
llvm::ArrayRef<CodeMutationKind> getCodeMutationKinds();

/// A fault that is in a module now.
struct PlantedFault {
  Planted edit;
  std::string function;         ///< that has it
  std::set<std::string> phases; ///< phase functions that run it
};

/// Plants a fault; returns nothing if the code has no location for it. Changes,
/// functions and locations are chosen evenly, in this order.
std::optional<PlantedFault>
plantFault(mlir::ModuleOp code, const CodeMutationKind &kind, Random &random);

/// Plants code that stops the program where plantFault() changes something.
void plantTrap(mlir::ModuleOp code, const CodeMutationKind &kind,
               Random &random);

/// Plants code that stops the program where plantFault() makes an integer
/// differ. Returns false for other fault forms.
bool plantTrapWhereDifferent(mlir::ModuleOp code, const CodeMutationKind &kind,
                             Random &random);

/// Changes only the values that differ with the fault from plantFault(), all to
/// one value, or the operands in a store or in memory accesses through an
/// address. Returns false for other fault forms.
bool plantNumber(mlir::ModuleOp code, const CodeMutationKind &kind,
                 Random &random, double number);

/// Sources for the kinds.
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

/// Sets all elements that an instruction loads, adds to or stores to one value.
/// Returns false for other instructions.
bool replaceTile(mlir::LLVM::CallIntrinsicOp op, double number);

/// Sets all positions that an operation reads to one: a far later key, a far
/// earlier key, or the query itself, as the number chooses. Returns false for
/// operations that read no position table.
bool replacePositions(mlir::Operation *op, double number);

} // namespace transom::testing
