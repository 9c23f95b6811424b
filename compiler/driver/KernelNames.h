// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The micro-kernels that each phase calls, for the manifest.
#pragma once
#include "compiler/driver/CompileObserver.h"
#include "runtime/manifest/Manifest.h"
#include <map>

namespace transom {

/// Records each phase's kernels when code is lowered.
class KernelNames : public CompileObserver {
public:
  void passed(const PassInfo &pass, mlir::ModuleOp module,
              const InstructionSet *isa) override;

  /// Lowers a planned kern module if its code was not lowered, for example when
  /// it was read from a stage, and adds the kernels to the manifest's
  /// dispatches.
  Result<void> complete(mlir::ModuleOp module,
                        const std::vector<const InstructionSet *> &isas,
                        Manifest &manifest);

private:
  std::map<std::string, std::vector<std::string>> kernels; ///< by phase symbol
  std::vector<const InstructionSet *> lowered;
};

} // namespace transom
