// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a module in the LLVM dialect to optimized LLVM IR, assembly or an
// object file for one instruction set.
#pragma once
#include "compiler/codegen/TargetMachine.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace transom {

/// LLVM IR of one instruction set with the context that owns it; moved as one,
/// it can be optimized in any thread.
struct IsaModule {
  const InstructionSet *isa = nullptr;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  /// What assembly says at the code of each line of the listing; may be empty.
  std::vector<std::string> lineNotes{};
};

/// What code generation ends in.
enum class CodeKind { Object, Assembly };

/// Registers the translations from the LLVM dialect that `translate` needs.
void registerLLVMTranslations(mlir::MLIRContext &context);

/// Translates a module of functions and constants in the LLVM dialect; gives
/// each function the target and the attributes that keep library calls out.
Result<IsaModule> translate(mlir::ModuleOp module, const InstructionSet &isa);

/// Runs LLVM's O2 pipeline without vectorizers and unrolling: loops are
/// already in their final shape. Level 0 optimizes nothing, neither in this
/// pipeline nor in emitCode(); the code gives the same bits. `numDone` counts
/// the functions that are optimized.
Result<void> optimize(IsaModule &code, unsigned level = 2,
                      std::atomic<uint64_t> *numDone = nullptr);

/// Generates code: the bytes of an object file, or assembly text. `numDone`
/// counts the functions that are emitted.
Result<std::string> emitCode(IsaModule &code, CodeKind kind,
                             std::atomic<uint64_t> *numDone = nullptr);

/// Text of the LLVM IR; with use-list order, it reads back to the same bits.
std::string printLLVM(const IsaModule &code);

} // namespace transom
