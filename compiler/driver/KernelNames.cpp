// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first pass of lowering creates all kernels, so the others need not run.
#include "compiler/driver/KernelNames.h"
#include "compiler/artifact/PhaseKernels.h"
#include "compiler/pipeline/LowerModule.h"
#include "compiler/stages/Diagnostics.h"
#include "runtime/base/CodeSymbols.h"
#include "runtime/base/InstructionSet.h"

using namespace transom;

void KernelNames::passed(const PassInfo &pass, mlir::ModuleOp module,
                         const InstructionSet *isa) {
  if (pass.flag != "convert-kern-to-llvm")
    return;
  lowered.push_back(isa);
  for (PhaseKernels &phase : findPhaseKernels(module))
    kernels[phase.symbol] = std::move(phase.kernels);
}

Result<void>
KernelNames::complete(mlir::ModuleOp module,
                      const std::vector<const InstructionSet *> &isas,
                      Manifest &manifest) {
  for (const InstructionSet *isa : isas) {
    if (llvm::is_contained(lowered, isa))
      continue;
    DiagnosticCollector diagnostics(*module.getContext());
    LoweringEvents events;
    events.passDone = [&](const PassInfo &pass, mlir::ModuleOp code) {
      passed(pass, code, isa);
      return false;
    };
    (void)lowerModule(module, isa->name, events); // stops after one pass
    if (!llvm::is_contained(lowered, isa))
      return diagnostics.error(Status::Internal, "lowering failed");
  }
  for (ManifestEntry &entry : manifest.entries)
    for (ManifestDispatch &dispatch : entry.dispatches)
      for (const InstructionSet *isa : isas)
        llvm::append_range(dispatch.kernels,
                           kernels[getPhaseSymbol(isa->name, dispatch.phase,
                                                  dispatch.location)]);
  return {};
}
