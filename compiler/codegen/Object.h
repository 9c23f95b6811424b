// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates a module in the LLVM dialect to optimized LLVM IR, assembly or an
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

/// LLVM IR for one instruction set with its owning context. They are moved
/// together, so any thread can optimize them.
struct IsaModule {
  const InstructionSet *isa = nullptr;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  /// Assembly comments for the code of each listing line; may be empty.
  std::vector<std::string> lineNotes{};
};

/// The output of code generation.
enum class CodeKind { Object, Assembly };

/// Registers the translations from the LLVM dialect that `translate` needs.
void registerLLVMTranslations(mlir::MLIRContext &context);

/// Translates functions and constants in the LLVM dialect. Each function gets
/// the target and the attributes that prevent library calls.
Result<IsaModule> translate(mlir::ModuleOp module, const InstructionSet &isa);

/// Runs LLVM's O2 pipeline without vectorizers and unrolling: loops already
/// have their final shape. Level 0 disables optimization here and in
/// emitCode(); the code gives the same bits. `numDone` counts optimized
/// functions.
Result<void> optimize(IsaModule &code, unsigned level = 2,
                      std::atomic<uint64_t> *numDone = nullptr);

/// Generates code: the bytes of an object file, or assembly. `numDone` counts
/// emitted functions.
Result<std::string> emitCode(IsaModule &code, CodeKind kind,
                             std::atomic<uint64_t> *numDone = nullptr);

/// Prints the LLVM IR. With use-list order, reading it back gives the same
/// bits.
std::string printLLVM(const IsaModule &code);

} // namespace transom
