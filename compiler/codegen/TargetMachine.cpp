// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Target machines. Results must be the same bits on every instruction set, so
// LLVM may not fuse a multiplication and an addition that the IR keeps apart,
// and vectors of 512 bits stay what they are on CPUs whose tuning would halve
// them.
#include "compiler/codegen/TargetMachine.h"
#include "runtime/base/Suggest.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include <mutex>

using namespace transom;

static const char *const x86 = "x86_64-unknown-linux-gnu";
static const char *const arm = "aarch64-unknown-linux-gnu";

const std::vector<TargetIsa> &transom::targetIsas() {
  static const std::vector<TargetIsa> isas = {
      {"avx2", "x86-64-v3", "x86-64-v3", "", x86},
      {"avx512", "x86-64-v4", "x86-64-v4", "-prefer-256-bit", x86},
      {"avx512bf16", "x86-64-v4", "x86-64-v4",
       "+avx512bf16,+avx512vnni,-prefer-256-bit", x86, true},
      {"neon", "aarch64", "generic", "", arm},
  };
  return isas;
}

Result<const TargetIsa *> transom::isaOfName(const std::string &name) {
  std::vector<std::string> names;
  for (const TargetIsa &isa : targetIsas()) {
    if (name == isa.name)
      return &isa;
    names.push_back(isa.name);
  }
  return unsupported("unsupported instruction set '" + name + "'; supported: " +
                     joinNames(names) + suggest(name, names));
}

/// The strongest instruction set that this machine runs.
static Result<const TargetIsa *> nativeIsa() {
#if defined(__x86_64__)
  llvm::StringMap<bool> has = llvm::sys::getHostCPUFeatures();
  const char *v4[] = {"avx512f", "avx512bw", "avx512cd", "avx512dq",
                      "avx512vl"};
  const char *v3[] = {"avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe"};
  auto all = [&](const auto &names) {
    return llvm::all_of(names, [&](const char *n) { return has.lookup(n); });
  };
  if (all(v3))
    return isaOfName(all(v4) ? "avx512" : "avx2");
#elif defined(__aarch64__)
  return isaOfName("neon");
#endif
  return unsupported("no code is built for this machine's CPU; "
                     "supported: x86-64-v3, x86-64-v4, aarch64");
}

static Result<const TargetIsa *> isaOfTarget(const std::string &target) {
  if (target == "native")
    return nativeIsa();
  std::vector<std::string> names = {"native"};
  for (const TargetIsa &isa : targetIsas()) {
    if (target == isa.target)
      return &isa;
    names.push_back(isa.target);
  }
  return usageError("unknown target '" + target + "'; supported: " +
                    joinNames(names) + suggest(target, names));
}

Result<std::vector<const TargetIsa *>>
transom::isasOfTargets(const std::vector<std::string> &targets, bool bf16) {
  std::vector<const TargetIsa *> wanted, sorted;
  for (const std::string &target : targets) {
    TRANSOM_ASSIGN(const TargetIsa *isa, isaOfTarget(target));
    if (!wanted.empty() && isa->triple != wanted.front()->triple)
      return usageError("the targets '" + std::string(wanted.front()->target) +
                        "' and '" + isa->target +
                        "' are of different machines; an artifact has code of "
                        "one");
    wanted.push_back(isa);
  }
  auto isWanted = [&](const TargetIsa &isa) {
    return llvm::any_of(wanted, [&](const TargetIsa *other) {
      return llvm::StringRef(isa.target) == other->target;
    });
  };
  for (const TargetIsa &isa : targetIsas())
    if ((bf16 || !isa.forBf16) &&
        (targets.empty() ? isa.triple == x86 : isWanted(isa)))
      sorted.push_back(&isa);
  return sorted;
}

/// Makes LLVM's code generators known, once.
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
transom::createTargetMachine(const TargetIsa &isa) {
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
