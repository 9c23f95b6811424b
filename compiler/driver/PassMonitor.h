// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports compile passes: modules after them, times, and changes.
#pragma once
#include "compiler/driver/CompileObserver.h"
#include <chrono>

namespace transom {

/// Fails for names in `printAfter` that are not passes or that do not run with
/// the other options or after the stage `resumed`.
Result<void> checkPrintedPasses(const CompileOptions &options,
                                std::optional<Stage> resumed);

/// Prints and measures as the options specify.
class PassMonitor : public CompileObserver {
public:
  explicit PassMonitor(const CompileOptions &options) : options(options) {}

  /// Returns false if the options request nothing.
  bool isNeeded() const;
  void willRun(const PassInfo &pass, mlir::ModuleOp module,
               const InstructionSet *isa) override;
  void passed(const PassInfo &pass, mlir::ModuleOp module,
              const InstructionSet *isa) override;
  /// Returns the measured times.
  std::vector<PassTime> takeTimes() { return std::move(times); }

private:
  const CompileOptions &options;
  std::vector<PassTime> times;
  PassTime current;
  std::string before; ///< the module as text, for `printChanged`
  std::chrono::steady_clock::time_point started;
};

} // namespace transom
