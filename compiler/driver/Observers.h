// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Combines several compile observers.
#pragma once
#include "compiler/driver/CompileObserver.h"
#include <vector>

namespace transom {

/// Forwards each event to several observers.
class Observers : public CompileObserver {
public:
  void add(CompileObserver *observer) { observers.push_back(observer); }

  void willRun(const transom::PassInfo &pass, ModuleOp module,
               const InstructionSet *isa) override {
    for (CompileObserver *observer : observers)
      observer->willRun(pass, module, isa);
  }
  void passed(const transom::PassInfo &pass, ModuleOp module,
              const InstructionSet *isa) override {
    for (CompileObserver *observer : observers)
      observer->passed(pass, module, isa);
  }
  void failed(const transom::PassInfo &pass, std::optional<Location> location,
              const InstructionSet *isa, const Error &error) override {
    for (CompileObserver *observer : observers)
      observer->failed(pass, location, isa, error);
  }
  void finished(Stage stage, ModuleOp module) override {
    for (CompileObserver *observer : observers)
      observer->finished(stage, module);
  }

private:
  std::vector<CompileObserver *> observers;
};

} // namespace transom
