// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Target machines. Results must have the same bits on every instruction set, so
// LLVM may not fuse a multiplication and an addition that are separate in the
// IR, and 512-bit vectors must not be split on CPUs whose tuning prefers 256
// bits.
#include "compiler/codegen/TargetMachine.h"
#include "runtime/base/Suggest.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include <mutex>

using namespace transom;

/// Returns the strongest instruction set that the host supports.
static Result<const InstructionSet *> getNativeIsa() {
  if (getRunnableInstructionSets().empty())
    return unsupported("this machine's CPU is not supported; supported: "
                       "x86-64-v3, x86-64-v4, aarch64");
  return getRunnableInstructionSets().front();
}

static Result<const InstructionSet *> findTarget(const std::string &target) {
  if (target == "native")
    return getNativeIsa();
  std::vector<std::string> names = {"native"};
  for (const InstructionSet &isa : getInstructionSets()) {
    if (target == isa.target)
      return &isa;
    if (names.back() != isa.target)
      names.push_back(isa.target);
  }
  return usageError("unknown target '" + target + "'; supported: " +
                    joinNames(names) + suggest(target, names));
}

Result<std::vector<const InstructionSet *>>
transom::selectTargets(const std::vector<std::string> &targets,
                       ModelTypes types) {
  std::vector<const InstructionSet *> selected, sorted;
  for (const std::string &target : targets) {
    TRANSOM_ASSIGN(const InstructionSet *isa, findTarget(target));
    if (!selected.empty() && isa->triple != selected.front()->triple)
      return usageError("the targets '" +
                        std::string(selected.front()->target) + "' and '" +
                        isa->target +
                        "' are of different machines; an artifact has code of "
                        "one");
    selected.push_back(isa);
  }
  // Without a target, code is generated for the first entry's machine.
  const char *defaultTriple = getInstructionSets().front().triple;
  auto isSelected = [&](const InstructionSet &isa) {
    return llvm::any_of(selected, [&](const InstructionSet *other) {
      return llvm::StringRef(isa.target) == other->target;
    });
  };
  for (const InstructionSet &isa : getInstructionSets())
    if (isa.isFor(types) &&
        (targets.empty() ? isa.triple == defaultTriple : isSelected(isa)))
      sorted.push_back(&isa);
  return sorted;
}

/// Registers LLVM's code generators, once.
static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
  });
}

Result<std::unique_ptr<llvm::TargetMachine>>
transom::createTargetMachine(const InstructionSet &isa) {
  initializeTargets();
  std::string problem;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(isa.triple, problem);
  if (!target)
    return internalError("LLVM has no target '" + std::string(isa.triple) +
                         "': " + problem);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      isa.triple, isa.cpu, isa.features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return internalError("LLVM makes no code for '" + std::string(isa.target) +
                         "'");
  return machine;
}
