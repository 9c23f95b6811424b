// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shows passes of a compile: modules after them, times, and what they did.
#pragma once
#include "compiler/driver/CompileObserver.h"
#include <chrono>

namespace transom {

/// Fails for names in `printAfter` of passes that do not exist or do not run
/// with the other options or after the stage `resumed`.
Result<void> checkPrintedPasses(const CompileOptions &options,
                                std::optional<Stage> resumed);

/// Prints and measures as the options ask for.
class PassMonitor : public CompileObserver {
public:
  explicit PassMonitor(const CompileOptions &options) : options(options) {}

  /// False for options that ask for nothing.
  bool isNeeded() const;
  void willRun(const PassInfo &pass, mlir::ModuleOp module,
               const InstructionSet *isa) override;
  void passed(const PassInfo &pass, mlir::ModuleOp module,
              const InstructionSet *isa) override;
  /// What was measured.
  std::vector<PassTime> takeTimes() { return std::move(times); }

private:
  const CompileOptions &options;
  std::vector<PassTime> times;
  PassTime current;
  std::string before; ///< text of the module, for `printChanged`
  std::chrono::steady_clock::time_point started;
};

} // namespace transom
