// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers passes by their flags, and stages as pipelines.
#include "compiler/pipeline/Register.h"
#include "compiler/pipeline/ExtensionPoints.h"
#include "compiler/pipeline/Pipeline.h"
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/graph/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/lower/Passes.h"

using namespace mlir;

namespace transom {

namespace {

/// Command-line options for a stage.
struct StageFlags : PassPipelineOptions<StageFlags> {
  ListOption<std::string> disabled{
      *this, "disable", llvm::cl::desc("Flags of passes to leave out")};
  Option<std::string> isa{*this, "isa",
                          llvm::cl::desc("Instruction set to emit code for"),
                          llvm::cl::init("avx2")};
  Option<Backend> backend{
      *this, "backend",
      llvm::cl::desc("What computes products, softmax and norms"),
      llvm::cl::init(Backend::Native),
      llvm::cl::values(clEnumValN(Backend::Native, "native", "generated code"),
                       clEnumValN(Backend::OneDnn, "onednn", "oneDNN"))};
};

void registerStage(const StageInfo &info) {
  Stage stage = info.stage;
  PassPipelineRegistration<StageFlags>(
      std::string("transom-") + info.name, info.description,
      [stage](OpPassManager &manager, const StageFlags &flags) {
        PipelineOptions options;
        options.disabled = {flags.disabled.begin(), flags.disabled.end()};
        options.backend = flags.backend;
        options.isa = flags.isa;
        populateStage(manager, stage, options);
      });
}

} // namespace

void registerTransomDialects(DialectRegistry &registry) {
  registry.insert<attn::AttnDialect, kern::KernDialect, func::FuncDialect,
                  arith::ArithDialect, cf::ControlFlowDialect,
                  LLVM::LLVMDialect, scf::SCFDialect, vector::VectorDialect>();
}

void registerTransomPasses() {
  registerGraphPasses();
  registerKernelPasses();
  registerLowerPasses();
  registerExtensionPasses();
  for (const StageInfo &info : getStages())
    if (llvm::any_of(getPasses(), [&](const PassInfo &pass) {
          return pass.stage == info.stage;
        }))
      registerStage(info);
}

} // namespace transom
