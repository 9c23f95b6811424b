// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes are detected by comparing module text without remarks.
#include "compiler/driver/PassMonitor.h"
#include "compiler/pipeline/PassRange.h"
#include "compiler/stages/ModuleText.h"
#include "passes/Remarks.h"
#include "runtime/base/InstructionSet.h"

using namespace mlir;
using namespace transom;

Result<void> transom::checkPrintedPasses(const CompileOptions &options,
                                         std::optional<Stage> resumed) {
  PipelineOptions pipeline;
  pipeline.backend = parseBackend(options.backend).value_or(Backend::Native);
  pipeline.disabled = {options.disabledPasses.begin(),
                       options.disabledPasses.end()};
  for (const std::string &name : options.printAfter) {
    TRANSOM_ASSIGN(const transom::PassInfo *pass, findPass(name));
    if (!runsPass(*pass, pipeline) || pass->stage > options.emit ||
        (resumed && pass->stage <= *resumed))
      return usageError("'--print-after': pass '" + name +
                        "' does not run with these options");
  }
  return {};
}

bool PassMonitor::isNeeded() const {
  return options.timePasses || options.printChanged ||
         !options.printAfter.empty();
}

/// Prints the module for human readers, without the remark attribute, which is
/// restored.
static std::string printWithoutRemarks(ModuleOp module, bool withLocations) {
  Attribute remarks = module->removeAttr(Remarks::attributeName);
  std::string text = printForReading(module, withLocations);
  if (remarks)
    module->setAttr(Remarks::attributeName, remarks);
  return text;
}

static uint64_t countOperations(ModuleOp module) {
  uint64_t count = 0;
  module.walk([&](Operation *) { ++count; });
  return count - 1; // the module itself
}

static uint64_t countRemarks(ModuleOp module, RemarkKind kind) {
  return llvm::count_if(Remarks::readFrom(module), [&](const Remark &remark) {
    return remark.kind == kind;
  });
}

void PassMonitor::willRun(const transom::PassInfo &pass, ModuleOp module,
                          const InstructionSet *isa) {
  if (options.printChanged)
    before = printWithoutRemarks(module, options.emitLocations);
  if (options.timePasses)
    current = {getStageInfo(pass.stage).progress,
               getPassName(pass),
               isa ? isa->name : "",
               0,
               countOperations(module),
               0,
               countRemarks(module, RemarkKind::Passed),
               countRemarks(module, RemarkKind::Missed)};
  started = std::chrono::steady_clock::now();
}

void PassMonitor::passed(const transom::PassInfo &pass, ModuleOp module,
                         const InstructionSet *isa) {
  if (options.timePasses) {
    current.seconds = std::chrono::duration<double>(
                          std::chrono::steady_clock::now() - started)
                          .count();
    current.operationsAfter = countOperations(module);
    // Lowering drops remarks from previous passes.
    auto getNew = [&](RemarkKind kind, uint64_t before) {
      return std::max(countRemarks(module, kind), before) - before;
    };
    current.passed = getNew(RemarkKind::Passed, current.passed);
    current.missed = getNew(RemarkKind::Missed, current.missed);
    times.push_back(std::move(current));
  }

  // A header as in mlir-opt dumps, with the pass name, which distinguishes
  // runs.
  const std::string name = getPassName(pass);
  const bool isAsked = llvm::is_contained(options.printAfter, name);
  if (!isAsked && !options.printChanged)
    return;
  const std::string text = printWithoutRemarks(module, options.emitLocations);
  if (!isAsked && text == before)
    return;
  options.print("// -----// IR Dump After " + name +
                (isa ? " for " + std::string(isa->name) : "") +
                " //----- //\n" + text + "\n");
}
