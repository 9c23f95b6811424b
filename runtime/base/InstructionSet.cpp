// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU tests read cpuid and the registers that the operating system saves
// (XCR0); see Intel SDM volume 1, 14.3 and 15.2.
#include "runtime/base/InstructionSet.h"
#include "runtime/base/Suggest.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace transom;

//===----------------------------------------------------------------------===//
// CPU tests
//===----------------------------------------------------------------------===//

#if defined(__x86_64__)
namespace {
/// The four registers for one cpuid leaf; zero if the CPU lacks it.
struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
  explicit Leaf(unsigned leaf, unsigned subleaf = 0) {
    __get_cpuid_count(leaf, subleaf, &a, &b, &c, &d);
  }
};
} // namespace

static bool hasBits(unsigned word, std::initializer_list<int> bits) {
  for (int bit : bits)
    if (!(word >> bit & 1))
      return false;
  return true;
}

/// True if the operating system saves these registers (XCR0 bits).
static bool savesRegisters(uint64_t mask) {
  constexpr int osxsave = 27;
  if (!hasBits(Leaf(1).c, {osxsave}))
    return false;
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return ((uint64_t(high) << 32 | low) & mask) == mask;
}

/// x86-64-v3.
static bool runsAvx2() {
  constexpr int fma = 12, movbe = 22, avx = 28, f16c = 29;
  constexpr int bmi1 = 3, avx2 = 5, bmi2 = 8, lzcnt = 5;
  return savesRegisters(0x6) && hasBits(Leaf(1).c, {fma, movbe, avx, f16c}) &&
         hasBits(Leaf(7).b, {bmi1, avx2, bmi2}) &&
         hasBits(Leaf(0x80000001).c, {lzcnt});
}

static bool runsAvxVnni() {
  constexpr int vnni = 4;
  return runsAvx2() && hasBits(Leaf(7, 1).a, {vnni});
}

/// x86-64-v4.
static bool runsAvx512() {
  constexpr int foundation = 16, dq = 17, cd = 28, bw = 30, vl = 31;
  return runsAvx2() && savesRegisters(0xe6) &&
         hasBits(Leaf(7).b, {foundation, dq, cd, bw, vl});
}

static bool runsAvx512Vnni() {
  constexpr int vnni = 11;
  return runsAvx512() && hasBits(Leaf(7).c, {vnni});
}

static bool runsAvx512Bf16() {
  constexpr int bf16 = 5;
  return runsAvx512Vnni() && hasBits(Leaf(7, 1).a, {bf16});
}

/// Linux enables the tile registers only for a process that requests them.
static bool getTileRegisters() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

static bool runsAmx() {
  constexpr int bf16 = 22, tile = 24, int8 = 25;
  constexpr uint64_t tileConfigAndData = 0x60000;
  return runsAvx512Bf16() && hasBits(Leaf(7).d, {bf16, tile, int8}) &&
         savesRegisters(tileConfigAndData) && getTileRegisters();
}
#else
static bool runsAvx2() { return false; }
static bool runsAvxVnni() { return false; }
static bool runsAvx512() { return false; }
static bool runsAvx512Vnni() { return false; }
static bool runsAvx512Bf16() { return false; }
static bool runsAmx() { return false; }
#endif

static bool runsNeon() {
#if defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static const char *const x86 = "x86_64-unknown-linux-gnu";
static const char *const arm = "aarch64-unknown-linux-gnu";

// A tile with r rows and v vectors needs r*v accumulators, v registers for the
// weights and two for the broadcast value: 6x2 with 16 ymm registers (a 16-lane
// vector takes two), 14x2 with 32 zmm registers, 6x1 with 32 four-lane
// registers. Where bf16 pairs have to be widened, the weights take twice as
// many registers and the broadcast value takes two more. Where one instruction
// multiplies bytes, only a group's integer sums stay in registers: the f32 sums
// are stored and loaded once per group, which costs less than fewer rows.
const std::vector<InstructionSet> &transom::getInstructionSets() {
  static const std::vector<InstructionSet> table = {
      {"avx2", "x86-64-v3", false, false, x86, "x86-64-v3", "", 256, 6, 1, 4, 2,
       false, false, false, runsAvx2},
      {"avxvnni", "x86-64-v3", false, true, x86, "x86-64-v3", "+avxvnni", 256,
       6, 1, 4, 6, false, true, false, runsAvxVnni},
      {"avx512", "x86-64-v4", false, false, x86, "x86-64-v4", "-prefer-256-bit",
       512, 14, 2, 12, 6, false, false, false, runsAvx512},
      {"avx512vnni", "x86-64-v4", false, true, x86, "x86-64-v4",
       "+avx512vnni,-prefer-256-bit", 512, 14, 2, 12, 12, false, true, false,
       runsAvx512Vnni},
      {"avx512bf16", "x86-64-v4", true, false, x86, "x86-64-v4",
       "+avx512bf16,+avx512vnni,-prefer-256-bit", 512, 14, 2, 14, 12, true,
       true, false, runsAvx512Bf16},
      {"amx", "x86-64-v4", true, true, x86, "x86-64-v4",
       "+amx-tile,+amx-bf16,+amx-int8,+avx512bf16,+avx512vnni,-prefer-256-bit",
       512, 14, 2, 14, 6, true, true, true, runsAmx},
      {"neon", "aarch64", false, false, arm, "generic", "", 128, 6, 1, 4, 2,
       false, false, false, runsNeon},
  };
  return table;
}

//===----------------------------------------------------------------------===//
// Look-up
//===----------------------------------------------------------------------===//

std::vector<std::string> transom::getInstructionSetNames() {
  std::vector<std::string> names;
  for (const InstructionSet &isa : getInstructionSets())
    names.push_back(isa.name);
  return names;
}

const InstructionSet *transom::findInstructionSet(std::string_view name) {
  for (const InstructionSet &isa : getInstructionSets())
    if (name == isa.name)
      return &isa;
  return nullptr;
}

Result<const InstructionSet *>
transom::getInstructionSet(const std::string &name) {
  if (const InstructionSet *isa = findInstructionSet(name))
    return isa;
  const std::vector<std::string> names = getInstructionSetNames();
  return unsupported("unsupported instruction set '" + name + "'; supported: " +
                     joinNames(names) + suggest(name, names));
}

const std::vector<const InstructionSet *> &
transom::getRunnableInstructionSets() {
  static const std::vector<const InstructionSet *> runnable = [] {
    std::vector<const InstructionSet *> found;
    for (const InstructionSet &isa : getInstructionSets())
      if (isa.runsHere())
        found.insert(found.begin(), &isa);
    return found;
  }();
  return runnable;
}
